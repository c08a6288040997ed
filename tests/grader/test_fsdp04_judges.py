"""fsdp04's judges where no wrong answer leads: damage to files, samples told by their tokens."""

import pytest
import torch

from grader.fsdp04.damage import Damage, damage, damaged_copies
from grader.fsdp04.lineage import GlobalStep, id_of, place_by_ids, place_of
from grader.fsdp04.loss_picture import LossPicture, Stretch
from grader.fsdp04.shards import judge_spread
from grader.mistakes import Mistake
from sandbox.ledger import Ledger

pytestmark = pytest.mark.fsdp04
SAMPLES = torch.tensor([[1, 2, 3, 4], [1, 2, 3, 5], [6, 7, 8, 9]])
MASK = 61


@pytest.mark.parametrize(
    ("kind", "left"),
    [
        (Damage.MISSING, None),
        (Damage.CUT, b"abcd"),
        (Damage.GROWN, b"abcdefgh\0"),
        (Damage.ZEROED, b"abcd\0\0\0\0"),
        (Damage.FLIPPED, b"abcdufgh"),
    ],
)
def test_damage_is_what_its_name_says(tmp_path, kind, left):
    path = tmp_path / "file"
    path.write_bytes(b"abcdefgh")
    assert damage(path, kind, place=4 / 7)
    assert (path.read_bytes() if path.exists() else None) == left


@pytest.mark.parametrize("kind", [Damage.CUT, Damage.ZEROED, Damage.FLIPPED])
def test_an_empty_file_has_nothing_to_lose(tmp_path, kind):
    path = tmp_path / "file"
    path.touch()
    assert not damage(path, kind)


def test_copies_are_damaged_one_file_and_one_way_each(tmp_path):
    origin = tmp_path / "step-1"
    (origin / "sub").mkdir(parents=True)
    for name in ("a", "sub/b"):
        (origin / name).write_bytes(b"abcdefgh")
    places = {Damage.CUT: (0.5,), Damage.FLIPPED: (0.0, 1.0)}
    copies = list(damaged_copies(origin, tmp_path / "copies", ["a", "sub/b"], places))
    assert [(copy.file, copy.damage) for copy in copies] == [
        (name, kind) for name in ("a", "sub/b") for kind in (Damage.CUT, *[Damage.FLIPPED] * 2)
    ]
    assert len({copy.directory for copy in copies}) == len(copies)
    assert (origin / "a").read_bytes() == b"abcdefgh"


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ((1, 2, 3, 4), 0),
        ((MASK, 2, MASK, 5), 1),
        ((1, 2, 3, MASK), None),  # of two samples
        ((1, 2, 8, 9), None),
        ((6, 7, 8), None),
    ],
)
def test_a_sample_is_told_by_the_tokens_that_are_not_masked(row, expected):
    assert id_of(row, SAMPLES, MASK) == expected


def test_a_step_is_found_by_its_inputs_and_by_its_samples_alone():
    steps = [GlobalStep([(1, 2)], [0]), GlobalStep([(3, 61)], [1])]
    assert place_of(GlobalStep([(3, 61)], [1]), steps) == 1
    assert place_of(GlobalStep([(3, 4)], [1]), steps) is None
    assert place_by_ids(GlobalStep([(3, 4)], [1]), steps) == 1
    assert place_by_ids(GlobalStep([(3, 4)], [None]), steps) is None


def test_the_losses_sentence_counts_what_was_done_again():
    stretches = [Stretch(0, [3.0, 2.0], 2, "failed"), Stretch(1, [2.0, 1.5], 1, "finished")]
    picture = LossPicture([3.0, 2.0, 1.0], stretches, run=None)
    assert "3 steps in 2 generations, 1 of them done twice" in picture.sentence
    assert "differ by at most 0.5" in picture.sentence
    assert picture.picture().height_px > 0


@pytest.mark.parametrize(
    ("sizes", "mistake"),
    [((30, 30, 30, 10), None), ((90, 10, 10, 10), Mistake.STATE_GATHERED)],
)
def test_a_file_that_holds_most_of_a_checkpoint_was_written_for_all(tmp_path, sizes, mistake):
    for rank, size in enumerate(sizes):
        (tmp_path / f"__{rank}_0.distcp").write_bytes(bytes(size))
    failure = judge_spread(Ledger(world_size=4), tmp_path, {"weight": torch.zeros(5)})
    assert (failure and failure.mistake) == mistake
