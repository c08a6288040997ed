"""The toy transformer and its data: alike on all ranks, exact in float64, seen by FLOP counters."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from sandbox import toys


def named(model):
    return dict(model.named_parameters())


def test_the_same_seed_gives_the_same_weights_in_every_dtype():
    torch.manual_seed(1)
    first = named(toys.Transformer(seed=5, dtype=torch.float64))
    torch.manual_seed(2)
    second = named(toys.Transformer(seed=5))
    other = named(toys.Transformer(seed=6))
    for name, weight in first.items():
        assert torch.equal(weight.float(), second[name]), name
    assert not torch.equal(second["head.weight"], other["head.weight"])


def test_tied_model_has_one_weight_for_embedding_and_head():
    model = toys.Transformer(tied=True)
    assert model.head.weight is model.embedding.weight
    assert "head.weight" not in named(model)
    assert "head.weight" in named(toys.Transformer())


def test_a_token_sees_no_later_one():
    model = toys.Transformer(dtype=torch.float64)
    tokens = toys.token_samples([3])
    changed = tokens.clone()
    changed[0, 7:] = 0
    logits, other = model(tokens), model(changed)
    assert torch.equal(logits[:, :7], other[:, :7])
    assert not torch.equal(logits[:, 7:], other[:, 7:])


def test_rotation_depends_on_distance_alone():
    generator = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 6, dtype=torch.float64, generator=generator)
    turned_q = toys.rotate(q.expand(1, 1, 9, 6))[0, 0]
    turned_k = toys.rotate(k.expand(1, 1, 9, 6))[0, 0]
    products = [turned_q[place + 3] @ turned_k[place] for place in range(6)]
    assert products == pytest.approx([products[0].item()] * 6, abs=1e-12)
    assert torch.equal(turned_q[0], q)


def test_dropout_zeroes_in_training_alone_and_adds_no_parameter():
    plain, dropping = toys.Transformer(), toys.Transformer(dropout=0.3)
    tokens = toys.token_samples([3])
    assert named(plain).keys() == named(dropping).keys()
    assert not torch.equal(dropping(tokens), dropping(tokens))
    assert torch.equal(dropping.eval()(tokens), plain(tokens))


def test_flops_of_attention_are_counted():
    batch, length, dim, num_heads, hidden, vocab, num_blocks = 2, 12, 24, 2, 45, 61, 3
    model = toys.Transformer()
    with FlopCounterMode(display=False) as counter:
        model(toys.token_samples(range(batch)))
    rows = batch * length
    attention = 2 * 2 * batch * num_heads * length * length * (dim // num_heads)
    matrices = 2 * rows * (4 * dim * dim + 3 * dim * hidden)
    expected = num_blocks * (attention + matrices) + 2 * rows * dim * vocab
    assert counter.get_total_flops() == expected


def test_samples_are_a_function_of_seed_and_id():
    samples = toys.token_samples([4, 9, 4])
    assert torch.equal(samples[0], samples[2])
    assert torch.equal(samples[1], toys.token_samples([9])[0])
    assert not torch.equal(samples, toys.token_samples([4, 9, 4], seed=1))
    assert toys.token_samples([], seq_len=5).shape == (0, 5)


def test_the_model_learns_the_samples():
    model = toys.Transformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for step in range(60):
        tokens = toys.token_samples(range(32 * step, 32 * step + 32))
        loss = toys.next_token_loss(model(tokens), tokens)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert losses[-1] < losses[0] - 1


def test_heads_that_do_not_fit_are_an_error_with_the_arithmetic():
    with pytest.raises(ValueError, match=r"dim 10 is not a multiple of 2 \* num_heads 3"):
        toys.Transformer(dim=10, num_heads=3)
