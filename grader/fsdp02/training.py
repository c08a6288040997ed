"""Training by hand, observed: gradients at each step, what is left after it, and the weights."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

import sandbox
from grader.cases import Case
from grader.fsdp02.flat import flattened, names_of, pieces
from grader.fsdp02.held_aside import aside_bytes, locals_of, states_of, tensors_of
from grader.shards import Shard
from grader.truth import StepTruth, train
from sandbox import toys

LEARNING_RATE = 1e-2
NUM_STEPS = 3


class NotGatheredError(Exception):
    """Raised when a layer is about to run on parameters without memory, which ends the process."""


@dataclass(frozen=True)
class Layout:
    """What one rank's flat parameters are, before any step."""

    names: list[list[str]]  # of the parameters in each
    numels: list[int]  # of each whole, padding included
    is_trained: list[bool]
    optimizer_kind: str
    lrs: list[float]  # of the optimizer's groups
    num_others_held: int  # tensors in the optimizer that are no shard of trained parameters
    num_shards_missing: int
    optimizer_numel: int  # elements of all that the optimizer holds

    @property
    def trained_numels(self) -> list[int]:
        """Return the elements of each whole that is trained."""
        pairs = zip(self.numels, self.is_trained, strict=True)
        return [numel for numel, is_trained in pairs if is_trained]


@dataclass(frozen=True)
class Seen:
    """What one rank saw; `returned` says what came instead of flat parameters and an optimizer."""

    returned: str = ""
    layout: Layout | None = None
    arrived: list[dict[str, Shard]] = field(default_factory=list)  # per optimizer.step()
    weights: list[dict[str, Shard]] = field(default_factory=list)  # after each step
    not_gathered: str = ""  # a parameter that had no memory when its layer was to run
    aside_bytes: int = 0  # held beside all that is known, in the last step


def describe_pair(answer: Any, kind: str) -> str:
    """Return "" for a pair (flat parameters, optimizer), else what it is; `kind` flat or flats."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        return "None" if answer is None else type(answer).__name__
    flats = [answer[0]] if kind == "flat" else answer[0]
    names = ("parameters", "whole", "shard")
    if not isinstance(flats, list | tuple) or not all(hasattr(f, n) for f in flats for n in names):
        return f"({type(answer[0]).__name__}, {type(answer[1]).__name__})"
    if not isinstance(answer[1], torch.optim.Optimizer):
        return f"({type(answer[0]).__name__}, {type(answer[1]).__name__})"
    return ""


def layout_of(flats: Sequence[Any], optimizer: torch.optim.Optimizer, model: nn.Module) -> Layout:
    """Return what flat parameters hold, and how much of it the optimizer has."""
    held = [tensor for group in optimizer.param_groups for tensor in group["params"]]
    trained = [flat.shard for flat in flats if flat.parameters[0].requires_grad]
    held_ids, shard_ids = set(map(id, held)), set(map(id, trained))
    return Layout(
        names=[names_of(flat, model) for flat in flats],
        numels=[flat.whole.numel() for flat in flats],
        is_trained=[flat.parameters[0].requires_grad for flat in flats],
        optimizer_kind=type(optimizer).__name__,
        lrs=[group["lr"] for group in optimizer.param_groups],
        num_others_held=len(held_ids - shard_ids),
        num_shards_missing=len(shard_ids - held_ids),
        optimizer_numel=sum(tensor.numel() for tensor in held),
    )


def observe_steps(
    model: nn.Module,
    flats: Sequence[Any],
    optimizer: torch.optim.Optimizer,
    step: Callable[[], None],
    case: Case,
    before: Mapping[int, int],
    num_micro_batches: int = 1,
) -> Seen:
    """Train some steps, each between the marks "backward", "step" and "end".

    `before` are the live storages from before there was a model.
    """
    layout = layout_of(flats, optimizer, model)
    numels = {name: parameter.numel() for name, parameter in model.named_parameters()}
    arrived: list[dict[str, Shard]] = []

    def record(*_: Any) -> None:
        found: dict[str, Shard] = {}
        for flat, names in zip(flats, layout.names, strict=True):
            found |= pieces(names, numels, flat.shard.grad)
        arrived.append(found)

    optimizer.register_step_pre_hook(record)
    _guard(model)
    weights: list[dict[str, Shard]] = []
    aside: list[int] = []

    def look_aside() -> None:
        known = [*tensors_of(flats, model), *states_of(optimizer), tokens]
        aside.append(aside_bytes(before, [*known, *locals_of([*arrived, *weights])]))

    for number in range(NUM_STEPS):
        sandbox.mark("backward")
        for micro in range(num_micro_batches):
            tokens = case.tokens(number * num_micro_batches + micro, dist.get_rank())
            tokens = tokens.to(sandbox.device())
            try:
                loss = toys.next_token_loss(model(tokens), tokens)
            except NotGatheredError as error:
                return Seen("", layout, arrived, weights, str(error))
            (loss / num_micro_batches).backward()
            del loss
        is_last = number == NUM_STEPS - 1
        if is_last:
            look_aside()
        sandbox.mark("step")
        step()
        sandbox.mark("end")
        if is_last:
            look_aside()
        weights.append(_weights(model, flats, layout, numels))
    return Seen("", layout, arrived, weights, aside_bytes=max(aside))


def _guard(model: nn.Module) -> None:
    """Look at each layer's parameters before it runs, after whatever hooks gather them."""
    for path, module in model.named_modules():

        def look(module: nn.Module, _: Any, path: str = path) -> None:
            for name, parameter in module.named_parameters(recurse=False):
                if not parameter.untyped_storage().nbytes():
                    raise NotGatheredError(f"{path}.{name}")

        module.register_forward_pre_hook(look)


def _weights(
    model: nn.Module, flats: Sequence[Any], layout: Layout, numels: dict[str, int]
) -> dict[str, Shard]:
    """Return each parameter as this rank has it: whole if it is there, else its shard's piece."""
    found: dict[str, Shard] = {}
    for flat, names in zip(flats, layout.names, strict=True):
        found |= pieces(names, numels, flat.shard)
    for name, parameter in model.named_parameters():
        if parameter.untyped_storage().nbytes():
            local = parameter.detach().flatten().to("cpu", copy=True)
            found[name] = Shard(name, (len(local),), None, None, 0, local, local.nbytes)
    return found


def truths_of(case: Case, num_micro_batches: int = 1) -> list[StepTruth]:
    """Return the steps that one process takes on all ranks' micro-batches, weights flattened."""
    steps = [
        torch.cat(
            [case.global_tokens(step * num_micro_batches + m) for m in range(num_micro_batches)]
        )
        for step in range(NUM_STEPS)
    ]
    return [
        StepTruth(
            **{**vars(t), "gradients": flattened(t.gradients), "weights": flattened(t.weights)}
        )
        for t in train(case.new_model(), LEARNING_RATE, steps)
    ]


def last_micro_gradients(case: Case, num_micro_batches: int) -> dict[str, Tensor]:
    """Return the first step's gradients if only the last micro-batch of it were left."""
    [truth] = train(case.new_model(), LEARNING_RATE, [case.global_tokens(num_micro_batches - 1)])
    return {n: g / num_micro_batches for n, g in flattened(truth.gradients).items()}
