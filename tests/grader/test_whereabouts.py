"""Elsewhere, texts hash to other numbers and the day is another; nothing else has changed."""

import builtins
import random
import time

import torch

from grader.whereabouts import elsewhere, random_state


def test_only_what_differs_between_pythons_and_days_differs():
    def sample():
        texts = ["a", b"a", ("a", 1), (1, ("b",))]
        return [builtins.hash(text) for text in texts], builtins.hash((1, 2)), time.time() // 86_400

    texts, numbers, day = sample()
    with elsewhere():
        other_texts, other_numbers, other_day = sample()
    assert all(one != other for one, other in zip(texts, other_texts, strict=True))
    assert (other_numbers, other_day) == (numbers, day + 1)
    assert sample()[0] == texts


def test_each_global_random_state_is_told_apart():
    before = random_state()
    torch.rand(1, generator=torch.Generator().manual_seed(1))
    random.Random(1).random()
    assert random_state() == before
    torch.rand(1)
    assert {name for name, state in random_state().items() if state != before[name]} == {"torch"}
