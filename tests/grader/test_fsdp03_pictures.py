"""fsdp03's pictures and measurements say what the numbers are, and what is not solved yet."""

import pytest
import torch

from grader import fsdp03
from grader.fsdp03.range_picture import count_exponents
from grader.fsdp03.spacing import gap_above

pytestmark = pytest.mark.fsdp03


def stub(*_):
    raise NotImplementedError


@pytest.mark.parametrize(
    ("update", "said"),
    [
        (0.003, "1 + 0.003 moves in fp16 and fp32; in bf16 it rounds back."),
        (1e-9, "1 + 1e-09 moves in no format; in bf16 and fp16 and fp32 it rounds back."),
        (0.01, "1 + 0.01 moves in bf16 and fp16 and fp32."),
    ],
)
def test_the_number_lines_say_which_formats_keep_an_update(update, said):
    picture = fsdp03.draw_spacing(1.0, update)
    assert repr(picture) == said
    assert "lost: 1" in picture._repr_mimebundle_()["image/svg+xml"] or "back" not in said


def test_gaps_are_those_of_the_mantissas():
    for dtype, bits in ((torch.bfloat16, 7), (torch.float16, 10), (torch.float32, 23)):
        assert gap_above(1.0, dtype) == 2.0**-bits
        assert gap_above(5.0, dtype) == 2.0 ** (2 - bits)


def test_the_range_counts_what_fp16_really_loses():
    generator = torch.Generator().manual_seed(0)
    gradients = 10 ** (-12 * torch.rand(5_000, generator=generator))
    num_lost = int((gradients.half() == 0).sum())
    picture = fsdp03.draw_range(gradients, lambda values: 2.0**17)
    overflowing = int((gradients * 2.0**17).half().isinf().sum())
    lifted = int(((gradients * 2.0**17).half() == 0).sum()) + overflowing
    assert f"at scale 1: {num_lost:,} of 5,000; at scale 2^17: {lifted:,} of 5,000." in repr(
        picture
    )
    assert count_exponents(gradients).total() == 5_000


def test_a_picture_by_a_stub_says_so(capsys):
    assert fsdp03.draw_range(torch.ones(3), stub) is None
    fsdp03.measure_saving(stub, depths=(1,), seq_lens=(4,))
    out = capsys.readouterr().out
    assert "○ not solved yet: draw_range\n  It calls largest_scale" in out
    assert "○ not solved yet: measure_saving\n  It calls stub" in out


def test_policies_are_measured_in_bytes_and_flops():
    policies = fsdp03.measure_policies(seq_len=8)
    kept = [nbytes for nbytes, _ in policies.values()]
    assert kept == sorted(kept, reverse=True)
    assert policies["recompute all"][0] == 2 * 8 * 24 * 4  # the block's input: B L D in fp32
    matmuls = 2 * 2 * 8 * (4 * 24 * 24 + 2 * 24 * 45)  # all but the last, which nobody needs
    attention = 2 * 2 * 2 * 2 * 8 * 8 * 12
    assert [flops for _, flops in policies.values()] == [0, 0, attention, matmuls + attention]


def test_the_run_that_diverges_is_the_same_each_time():
    records = fsdp03.diverging_run()
    assert len(records) == 6 * 4 * 39
    finite = [record for record in records if record.step < 3]
    assert all(record.norm < 100 for record in finite)
    assert [str(record.norm) for record in records] == [
        str(record.norm) for record in fsdp03.diverging_run()
    ]
