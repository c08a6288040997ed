"""Step 10: predict the bytes that a rank sends in one step; the ledger is the judge."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import sandbox
from grader.cases import SMALL, TIED, UNEVEN, Case
from grader.fsdp01.exercise import Check
from grader.fsdp01.measure import events_of_steps, run_steps
from grader.mistakes import Mistake
from grader.shards import padded_numel
from grader.verdict import Failure
from sandbox import toys

Shape = tuple[int, ...]
Predict = Callable[[list[Shape], list[list[Shape]], int, int], Mapping[str, float]]

ITEMSIZE = 4
ROUNDING_BYTES = 2 * ITEMSIZE  # per collective: an all-reduce is two, each rounded to an element
CASES = ((1, UNEVEN), (2, TIED), (3, UNEVEN), (4, SMALL))  # (world_size, model)


@dataclass(frozen=True)
class Sizes:
    """A model's bytes on `world_size` ranks: of the root and of all blocks, padded and plain."""

    root: int
    blocks: int
    plain_root: int
    plain_blocks: int
    world_size: int

    @property
    def ring(self) -> float:
        """Return the part of a tensor that a rank sends in a ring: (N - 1) / N."""
        return (self.world_size - 1) / self.world_size


def check_predict_sent_bytes(predict_sent_bytes: Predict) -> None:
    """Judge `predict_sent_bytes(root_shapes, block_shapes, world_size, itemsize) -> dict`."""
    proof = "the prediction is what the ranks sent, for 3 strategies on 1, 2, 3 and 4 ranks"
    with Check("predict_sent_bytes", proof, predict_sent_bytes) as check:
        predictions = check.launch(observe, predict_sent_bytes, world_size=1).results[0]
        check.judge(judge_form(predictions))
        for (world_size, model), predicted in zip(CASES, predictions, strict=True):
            case = Case(world_size, model).text
            strategies = list(STRATEGIES.values())
            run = check.launch(run_steps, strategies, model, world_size=world_size, case=case)
            steps = events_of_steps(run.ledger, len(STRATEGIES))
            sizes = _sizes_of(model, world_size)
            for strategy, step in zip(STRATEGIES, steps, strict=True):
                measured = step.sent_bytes(rank=0)
                rounding = ROUNDING_BYTES * len(step)
                check.judge(judge(strategy, predicted[strategy], measured, sizes, rounding))


def _full_shard(
    model: toys.Transformer, mesh: DeviceMesh, reshard_after_forward: bool
) -> nn.Module:
    for block in model.blocks:
        fully_shard(block, mesh=mesh, reshard_after_forward=reshard_after_forward)
    fully_shard(model, mesh=mesh)
    return model


def _ddp(model: nn.Module, mesh: DeviceMesh) -> nn.Module:
    return DistributedDataParallel(model)


STRATEGIES = {
    "FULL_SHARD": functools.partial(_full_shard, reshard_after_forward=True),
    "SHARD_GRAD_OP": functools.partial(_full_shard, reshard_after_forward=False),
    "DDP": _ddp,
}


# -- observe --------------------------------------------------------------------------------------


def observe(predict: Predict) -> list[dict[str, float] | str]:
    """Return the predictions for every case; what is no dict of numbers as a text."""
    _forbid_launching()
    return [
        _as_numbers(predict(*_shapes_of(model), world_size, ITEMSIZE))
        for world_size, model in CASES
    ]


def _forbid_launching() -> None:
    """Let nothing be measured in this rank: a prediction is asked for."""

    def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError("predict_sent_bytes launches ranks; it is to predict what they send.")

    for name in ("launch", "World"):
        setattr(sandbox, name, refuse)


def _as_numbers(answer: object) -> dict[str, float] | str:
    if not isinstance(answer, Mapping):
        return type(answer).__name__
    numbers = {str(key): value for key, value in answer.items()}
    if set(numbers) != set(STRATEGIES):
        return f"a dict with {', '.join(sorted(numbers))}"
    try:
        return {key: float(value) for key, value in numbers.items()}
    except (TypeError, ValueError):
        return "values that are no numbers"


def _shapes_of(model_options: dict[str, Any]) -> tuple[list[Shape], list[list[Shape]]]:
    """Return the shapes of the root's parameters, and those of each block's."""
    model = toys.Transformer(**model_options)
    blocks = [[tuple(weight.shape) for weight in block.parameters()] for block in model.blocks]
    root = [
        tuple(weight.shape)
        for name, weight in model.named_parameters()
        if not name.startswith("blocks.")
    ]
    return root, blocks


# -- judge ----------------------------------------------------------------------------------------


def judge_form(predictions: Sequence[dict[str, float] | str]) -> Failure | None:
    """Judge that every prediction is a dict of the three strategies."""
    for predicted in predictions:
        if isinstance(predicted, str):
            expected = f"a dict with {', '.join(STRATEGIES)}"
            return Failure(mistake=Mistake.WRONG_RESULT, expected=expected, came=predicted)
    return None


def judge(
    strategy: str, predicted: float, measured: float, sizes: Sizes, rounding: float = 0.0
) -> Failure | None:
    """Compare with the measured bytes; name the usual ways of getting it wrong.

    An answer may be off by `rounding` bytes: it may count whole elements per collective.
    """
    if abs(predicted - measured) < 0.5:
        return None
    known = _known_mistakes(strategy, sizes)
    known[Mistake.ITEMSIZE_FORGOTTEN] = measured / ITEMSIZE
    named = [mistake for mistake, value in known.items() if abs(predicted - value) < 0.5]
    if not named and abs(predicted - measured) <= rounding:
        return None
    return Failure(
        mistake=named[0] if named else Mistake.ESTIMATE_WRONG,
        expected=f"{strategy}: {measured:,.0f} bytes measured",
        came=f"{predicted:,.0f} bytes predicted",
    )


def _known_mistakes(strategy: str, sizes: Sizes) -> dict[Mistake, float]:
    """Return what each usual mistake predicts."""
    root, blocks, ring = sizes.root, sizes.blocks, sizes.ring
    plain_root, plain_blocks = sizes.plain_root, sizes.plain_blocks
    if strategy == "DDP":
        return {
            Mistake.ALL_REDUCE_COUNTED_ONCE: (plain_root + plain_blocks) * ring,
            Mistake.DDP_PADDED: 2 * (root + blocks) * ring,
            Mistake.RING_FACTOR_MISSING: 2.0 * (plain_root + plain_blocks),
        }
    if strategy == "SHARD_GRAD_OP":
        return {
            Mistake.RING_FACTOR_MISSING: 2.0 * (root + blocks),
            Mistake.PADDING_FORGOTTEN: 2 * (plain_root + plain_blocks) * ring,
        }
    return {
        Mistake.BACKWARD_GATHER_FORGOTTEN: 2 * (root + blocks) * ring,
        Mistake.ROOT_GATHERED_TWICE: 3 * (root + blocks) * ring,
        Mistake.RING_FACTOR_MISSING: 2.0 * root + 3.0 * blocks,
        Mistake.PADDING_FORGOTTEN: (2 * plain_root + 3 * plain_blocks) * ring,
    }


def _sizes_of(model_options: dict[str, Any], world_size: int) -> Sizes:
    root, blocks = _shapes_of(model_options)
    all_blocks = [shape for shapes in blocks for shape in shapes]
    return Sizes(
        root=_num_bytes(root, world_size),
        blocks=_num_bytes(all_blocks, world_size),
        plain_root=_num_bytes(root, 1),
        plain_blocks=_num_bytes(all_blocks, 1),
        world_size=world_size,
    )


def _num_bytes(shapes: Sequence[Shape], world_size: int) -> int:
    return ITEMSIZE * sum(padded_numel(shape, world_size) for shape in shapes)
