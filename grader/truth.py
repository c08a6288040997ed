"""The independent truth: the same training in one process, on the whole batch, in float64."""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sandbox import toys


@dataclass(frozen=True)
class Clipping:
    """A way to clip: what is added to the norm before dividing by it, and how many times."""

    epsilon: float = 0.0
    times: int = 1

    def factor(self, norm: float, max_norm: float) -> float:
        """Return what gradients of this norm are multiplied by."""
        factor = 1.0
        for _ in range(self.times):
            factor *= min(1.0, max_norm / (factor * norm + self.epsilon))
        return factor


# All are right. torch.nn.utils.clip_grad_norm_ adds 1e-6; called again, it finds the norm that hair
# too long once more.
CLIPPINGS = (Clipping(1e-6), Clipping(), Clipping(1e-6, times=2))


@dataclass(frozen=True)
class StepTruth:
    """One step: losses, norm and gradients before clipping, the clipping factor, weights after."""

    loss: float
    sample_losses: list[float]
    grad_norm: float
    gradients: dict[str, Tensor]
    clip_factor: float
    weights: dict[str, Tensor]


def train(
    model: nn.Module,
    lr: float,
    batches: Iterable[Tensor],
    max_norm: float = float("inf"),
    clipping: Clipping = Clipping(),
) -> list[StepTruth]:
    """Return what each step of one-process training must give; `model` is trained in place."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    with one_thread():
        return [_step(model, optimizer, tokens, max_norm, clipping) for tokens in batches]


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Compute in this thread alone: a second one takes longer to wake than a toy's step takes."""
    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(num_threads)


def _step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    tokens: Tensor,
    max_norm: float,
    clipping: Clipping,
) -> StepTruth:
    optimizer.zero_grad()
    logits = model(tokens)
    sample_losses = [
        toys.next_token_loss(logits[[sample]], tokens[[sample]]).item()
        for sample in range(len(tokens))
    ]
    loss = toys.next_token_loss(logits, tokens)
    loss.backward()
    trained = [(name, w.grad) for name, w in model.named_parameters() if w.grad is not None]
    gradients = {name: gradient.clone() for name, gradient in trained}
    grad_norm = norm_of(gradients.values())
    clip_factor = clipping.factor(grad_norm, max_norm)
    for _, gradient in trained:
        gradient.mul_(clip_factor)
    optimizer.step()
    weights = weights_of(model)
    return StepTruth(loss.item(), sample_losses, grad_norm, gradients, clip_factor, weights)


def norm_of(tensors: Iterable[Tensor]) -> float:
    """Return the Euclidean norm of all elements of all tensors."""
    return torch.stack([tensor.square().sum() for tensor in tensors]).sum().sqrt().item()


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Return a copy of every parameter by name."""
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}
