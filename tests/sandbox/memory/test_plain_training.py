"""Plain modules and the run itself: hand counts, phases, the line of the peak, runs that fail."""

from __future__ import annotations

import inspect

import pytest

import sandbox
from sandbox.memory.history import Memory
from sandbox.memory.sample import MAX_SAMPLES

BYTES = 4  # of a float32


def make_model(dim: int = 6, vocab_size: int = 11):
    """A tied pair of (11, 6) matrices, a frozen (6, 6), and a bias of 6: 108 parameters."""
    from torch import nn

    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(vocab_size, dim)
            self.middle = nn.Linear(dim, dim)
            self.middle.weight.requires_grad_(False)
            self.head = nn.Linear(dim, vocab_size, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, tokens):
            return self.head(self.middle(self.embedding(tokens)))

    return Tied()


def train(num_steps: int = 2) -> None:
    import torch

    model = make_model()
    optimizer = torch.optim.AdamW(p for p in model.parameters() if p.requires_grad)
    for _ in range(num_steps):
        model(torch.arange(5)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


@pytest.fixture(scope="module")
def memory() -> Memory:
    return sandbox.launch(train, world_size=2, memory=True).memory


def test_tied_weights_count_once_and_frozen_ones_have_no_gradient_nor_state(memory) -> None:
    for rank in (0, 1):
        step = memory.at("step", rank)
        assert step.bytes["parameters"] == (11 * 6 + 6 * 6 + 6) * BYTES
        assert memory.at("backward", rank).bytes["gradients"] == (11 * 6 + 6) * BYTES
        # Two moments each, and two step counters: AdamW keeps each in a tensor of 4 bytes.
        assert step.bytes["optimizer"] == 2 * (11 * 6 + 6) * BYTES + 2 * 4
        assert step.facts.step_counters == 2 * 4


def test_phases_come_in_order_and_are_numbered_by_step(memory) -> None:
    ends = [(s.step, s.phase) for s in memory.of_rank(1) if s.is_end]
    of_step = ["forward", "loss", "backward", "step"]
    assert ends == [(0, "init")] + [(step, phase) for step in (0, 1) for phase in of_step]
    times = [s.time_s for s in memory.of_rank(1)]
    assert times == sorted(times)
    assert times[0] >= 0


def test_after_zero_grad_no_gradient_is_left(memory) -> None:
    assert memory.at("forward", step=0).bytes["gradients"] == 0
    assert memory.at("forward", step=1).bytes["gradients"] == 0


def test_a_phase_that_was_not_seen_is_said_to_be_missing(memory) -> None:
    with pytest.raises(
        ValueError, match=r"no sample at the end of step of step 7; it has: init of"
    ):
        memory.at("step", step=7)
    with pytest.raises(ValueError, match=r"no samples of rank 2, only of \[0, 1\]"):
        memory.peak(2)


def grow_and_shrink() -> None:
    import torch

    kept = [torch.zeros(100)]
    kept.append(torch.zeros(1000))
    del kept[1]
    kept.append(torch.zeros(10))


def test_the_peak_is_exact_and_names_the_learners_line() -> None:
    memory = sandbox.launch(grow_and_shrink, world_size=1, memory=True).memory
    lines, first = inspect.getsourcelines(grow_and_shrink)
    line = first + next(i for i, text in enumerate(lines) if "1000" in text)
    assert memory.peak(0).total == 1100 * BYTES
    assert memory.peak(0).site == f"{__file__}:{line}"
    assert memory.samples[-1].total == 110 * BYTES


def keep_by_hand() -> None:
    import torch

    weight = torch.ones(50, requires_grad=True)
    weight.square().sum().backward()


def test_what_has_no_owner_is_not_observed_and_never_0() -> None:
    memory = sandbox.launch(keep_by_hand, world_size=1, memory=True).memory
    last = memory.samples[-1]
    assert last.bytes["parameters"] is last.bytes["gradients"] is last.bytes["optimizer"] is None
    assert last.bytes["other"] >= 2 * 50 * BYTES
    table = repr(memory.compare(sandbox.model_states(50, 1, 0)))
    assert table.count("not observed") >= 3


def hold_a_parameter_outside(kind: str) -> None:
    import torch
    from torch import nn
    from torch.distributed.fsdp import fully_shard

    model = make_model()
    weights = [p for p in model.parameters() if p.requires_grad]
    if kind == "fsdp2":
        model = fully_shard(model)
        weights = [p for p in model.parameters() if p.requires_grad]
    if kind == "copies":
        weights = [p.detach().clone().requires_grad_() for p in weights]
    scale = nn.Parameter(torch.ones(50))
    optimizer = torch.optim.SGD([*weights, scale], momentum=0.9)
    (model(torch.arange(5)).mean() * scale).sum().backward()
    optimizer.step()


@pytest.mark.parametrize(
    ("kind", "parameters", "optimizer"),
    [
        ("beside", 108 + 50, 72 + 50),
        ("fsdp2", 108 + 50, 72 + 50),
        ("copies", 108, 72 + 50 + 50),  # what it updates, of which only its own has a gradient
    ],
)
def test_a_parameter_outside_of_modules_is_one_unless_the_optimizer_has_copies(
    kind: str, parameters: int, optimizer: int
) -> None:
    memory = sandbox.launch(hold_a_parameter_outside, kind, world_size=1, memory=True).memory
    step = memory.at("step")
    assert step.bytes["parameters"] == parameters * BYTES
    assert step.bytes["optimizer"] == optimizer * BYTES
    within = {s.bytes["parameters"] for s in memory.of_rank(0) if s.phase in ("forward", "loss")}
    assert within == {parameters * BYTES}


def update_by_hand() -> None:
    import torch

    weight = torch.nn.Parameter(torch.ones(50))
    optimizer = torch.optim.AdamW([weight])
    weight.square().sum().backward()
    optimizer.step()


def test_what_an_optimizer_updates_is_a_parameter_without_any_module() -> None:
    memory = sandbox.launch(update_by_hand, world_size=1, memory=True).memory
    step = memory.at("step")
    assert (step.bytes["parameters"], step.bytes["optimizer"]) == (50 * BYTES, 100 * BYTES + 4)
    assert memory.compare(sandbox.model_states(50, 1, 0))["parameters"].gap == 0


def train_in_a_thread() -> None:
    import threading

    thread = threading.Thread(target=train, args=(1,))
    thread.start()
    thread.join()


def test_in_a_thread_of_its_own_activations_are_not_observed_and_owners_are() -> None:
    memory = sandbox.launch(train_in_a_thread, world_size=1, memory=True).memory
    assert memory.at("forward").bytes["activations"] is None
    assert memory.at("step").bytes["parameters"] == 108 * BYTES
    assert memory.at("step").bytes["optimizer"] == 2 * 72 * BYTES + 2 * 4
    assert any("threads" in text for text in memory.not_observed)


def fail_in_backward() -> None:
    import torch

    model = make_model()

    def refuse(_: torch.Tensor) -> None:
        raise RuntimeError("no gradient today")

    out = model(torch.arange(5))
    out.register_hook(refuse)
    out.sum().backward()


def test_a_run_that_fails_has_its_samples_and_a_traceback_without_ours() -> None:
    with pytest.raises(sandbox.RankError) as caught:
        sandbox.launch(fail_in_backward, world_size=2, memory=True)
    memory = caught.value.run.memory
    assert [s.phase for s in memory.of_rank(1) if s.is_end] == ["init", "forward", "loss"]
    assert memory.peak(1).total > memory.at("init", 1).total
    assert "sandbox/memory/ta" not in caught.value.traceback_text


def test_a_rank_that_dies_leaves_what_it_had_published() -> None:
    def die() -> None:
        import os

        import torch

        model = make_model()
        out = model(torch.arange(5))
        if os.environ["RANK"] == "1":
            os._exit(3)
        out.sum().backward()

    with pytest.raises(sandbox.RankDiedError) as caught:
        sandbox.launch(die, world_size=2, memory=True)
    memory = caught.value.run.memory
    assert memory.at("forward", 1).bytes["parameters"] == 108 * BYTES
    assert memory.at("backward", 0).bytes["gradients"] == 72 * BYTES


def test_a_run_without_tracking_says_how_to_ask_for_it() -> None:
    with pytest.raises(sandbox.NotTrackedError, match=r"^the memory .* Hint: pass memory=True"):
        sandbox.launch(train, world_size=1).memory  # noqa: B018


def test_the_number_of_samples_is_bounded_and_the_peak_is_still_the_highest() -> None:
    def churn() -> None:
        import torch

        model = torch.nn.Linear(3, 3)
        for number in range(MAX_SAMPLES // 2):
            model(torch.ones(2, 3)).sum().backward()
            _ = torch.zeros(1000 if number % 2 else 10)
        _ = torch.zeros(100_000)

    memory = sandbox.launch(churn, world_size=1, memory=True).memory
    assert len(memory.samples) == MAX_SAMPLES
    assert memory.not_observed[-1].startswith("what rank 0 held after 2,000 samples")
    assert memory.peak().total > 400_000


def test_a_world_tracks_what_earlier_calls_have_left() -> None:
    def build() -> None:
        import __main__

        __main__.model = make_model()

    def use() -> None:
        import torch

        import __main__

        __main__.model(torch.arange(3))

    with sandbox.World(1) as world:
        world.run(build)
        run = world.run(use, memory=True)
        assert run.memory.at("init").bytes["parameters"] == 108 * BYTES
        with pytest.raises(sandbox.NotTrackedError):
            world.run(use).memory  # noqa: B018
