"""Activations: exact on models small enough to count by hand, with checkpointing and without."""

from __future__ import annotations

import functools

import sandbox
from sandbox.memory.history import Memory

B, IN, HIDDEN, OUT = 4, 5, 7, 3  # samples and features


def train(kind: str) -> None:
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(
                nn.Linear(IN, HIDDEN), nn.ReLU(inplace=kind == "inplace"), nn.Linear(HIDDEN, OUT)
            )

        def forward(self, x):
            if kind != "checkpoint":
                return self.layers(x)
            return checkpoint(self.layers, x, use_reentrant=False, preserve_rng_state=False)

    x = torch.ones(B, IN)
    model = Model()
    with torch.set_grad_enabled(kind != "no_grad"):
        out = model(x)
    if kind != "no_grad":
        out.sum().backward()


@functools.cache
def measure(kind: str) -> Memory:
    return sandbox.launch(train, kind, world_size=1, memory=True).memory


def test_a_perceptron_keeps_the_result_of_relu_and_its_output() -> None:
    """The first layer's result is freed: relu keeps its own, which the second layer shares."""
    assert measure("plain").at("forward").bytes["activations"] == 4 * B * (HIDDEN + OUT)


def test_an_inplace_relu_keeps_as_much_but_needs_less_at_its_peak() -> None:
    def highest(memory: Memory) -> int:
        return max(s.bytes["activations"] for s in memory.samples if s.phase == "forward")

    assert measure("inplace").at("forward").bytes["activations"] == 4 * B * (HIDDEN + OUT)
    assert highest(measure("plain")) == 4 * B * (HIDDEN + HIDDEN)
    assert highest(measure("inplace")) == 4 * B * (HIDDEN + OUT)


def test_a_checkpoint_keeps_the_output_alone() -> None:
    assert measure("checkpoint").at("forward").bytes["activations"] == 4 * B * OUT


def test_what_a_checkpoint_computes_again_is_seen_in_backward() -> None:
    most = max(s.bytes["activations"] for s in measure("checkpoint").samples if s.step == 0)
    assert most >= 4 * B * (HIDDEN + OUT)


def test_without_gradients_only_the_output_is_left() -> None:
    assert measure("no_grad").at("forward").bytes["activations"] == 4 * B * OUT


def test_the_peak_of_an_inference_is_where_relu_has_its_input_and_its_result() -> None:
    peak = measure("no_grad").peak()
    assert (peak.phase, peak.step, peak.is_end) == ("forward", 0, False)
    assert peak.bytes["activations"] == 4 * B * (HIDDEN + HIDDEN)
    parameters = IN * HIDDEN + HIDDEN + HIDDEN * OUT + OUT
    assert peak.total == 4 * (2 * B * HIDDEN + parameters + B * IN)


def test_the_batch_is_no_activation() -> None:
    assert measure("plain").at("forward").bytes["other"] == 4 * B * IN


def test_after_backward_nothing_is_left_that_autograd_had_kept() -> None:
    """The function still refers to its output, and to the loss, one number."""
    assert measure("plain").at("backward").bytes["activations"] == 4 * B * OUT + 4
