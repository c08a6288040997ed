"""Step 4: predict what a step sends in mixed precision; the ledger is the judge."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from grader.cases import SMALL, TIED, UNEVEN, Case
from grader.fsdp01.measure import events_of_steps, run_steps
from grader.fsdp03.exercise import Check
from grader.mistakes import Mistake
from grader.plain import as_number
from grader.shards import padded_numel
from grader.verdict import Failure
from sandbox import toys
from sandbox.failure import count_ranks

Predict = Callable[[int, list[int], int, int, int], Mapping[str, float]]

OPS = ("all_gather", "reduce_scatter")
# (world_size, model); with 2 ranks first, a missing ring factor would look like swapped sizes.
CASES = ((3, UNEVEN), (2, TIED), (4, SMALL), (1, SMALL))
DTYPES = (
    (torch.float32, torch.float32),
    (torch.bfloat16, torch.float32),
    (torch.bfloat16, torch.bfloat16),
)


@dataclass(frozen=True)
class Sizes:
    """Padded elements of the root and of each block, and bytes per element."""

    root: int
    blocks: tuple[int, ...]
    world_size: int
    param_itemsize: int
    reduce_itemsize: int

    @property
    def ring(self) -> float:
        """Return the part of a tensor that a rank sends in a ring: (N - 1) / N."""
        return (self.world_size - 1) / self.world_size


def check_predict_sent_bytes(predict_sent_bytes: Predict) -> None:
    """Judge the prediction on 1 to 4 ranks: fp32, mixed, and all in bf16."""
    proof = "the prediction is what the ranks sent: fp32, mixed and bf16, on 1, 2, 3 and 4 ranks"
    with Check("predict_sent_bytes", proof, predict_sent_bytes) as check:
        predictions = iter(check.launch(observe, predict_sent_bytes, world_size=1).results[0])
        strategies = [functools.partial(shard_as, dtypes=dtypes) for dtypes in DTYPES]
        for world_size, model in CASES:
            case = Case(world_size, model, dtype=torch.float32).text
            run = check.launch(run_steps, strategies, model, world_size=world_size, case=case)
            steps = events_of_steps(run.ledger, len(DTYPES))
            for dtypes, step in zip(DTYPES, steps, strict=True):
                measured = {op: step.where(op=op).sent_bytes(rank=0) for op in OPS}
                check.judge(judge(next(predictions), measured, sizes_of(model, world_size, dtypes)))


def shard_as(
    model: toys.Transformer, mesh: DeviceMesh, dtypes: tuple[torch.dtype, torch.dtype]
) -> nn.Module:
    """Shard each block and the root, to compute and to reduce in these dtypes."""
    policy = MixedPrecisionPolicy(param_dtype=dtypes[0], reduce_dtype=dtypes[1])
    for module in [*model.blocks, model]:
        fully_shard(module, mesh=mesh, mp_policy=policy)
    return model


def sizes_of(
    model_options: dict, world_size: int, dtypes: tuple[torch.dtype, torch.dtype]
) -> Sizes:
    """Return the padded sizes of the model that these options make."""
    model = toys.Transformer(**model_options)

    def numel(weights: Sequence[nn.Parameter]) -> int:
        return sum(padded_numel(weight.shape, world_size) for weight in weights)

    inside = {id(weight) for block in model.blocks for weight in block.parameters()}
    return Sizes(
        root=numel([weight for weight in model.parameters() if id(weight) not in inside]),
        blocks=tuple(numel(list(block.parameters())) for block in model.blocks),
        world_size=world_size,
        param_itemsize=dtypes[0].itemsize,
        reduce_itemsize=dtypes[1].itemsize,
    )


def observe(predict: Predict) -> list[dict[str, float | str] | str]:
    """Return the prediction for every case and pair of dtypes; what is no dict as its type."""
    predictions = []
    for world_size, model in CASES:
        for dtypes in DTYPES:
            sizes = sizes_of(model, world_size, dtypes)
            itemsizes = sizes.param_itemsize, sizes.reduce_itemsize
            answer = predict(sizes.root, list(sizes.blocks), world_size, *itemsizes)
            predictions.append(_as_numbers(answer))
    return predictions


def _as_numbers(answer: object) -> dict[str, float | str] | str:
    if not isinstance(answer, Mapping):
        return type(answer).__name__
    return {str(key): as_number(value) for key, value in answer.items()}


def judge(predicted: object, measured: Mapping[str, float], sizes: Sizes) -> Failure | None:
    """Compare with the measured bytes; name the usual ways of getting it wrong."""
    if not isinstance(predicted, dict) or set(predicted) != set(OPS):
        came = predicted if isinstance(predicted, str) else f"a dict with {_keys(predicted)}"
        expected = f"a dict with {' and '.join(OPS)}"
        return Failure(mistake=Mistake.WRONG_RESULT, expected=expected, came=came)
    for op in OPS:
        came = predicted[op]
        if isinstance(came, str):
            expected = f"{op}: a number"
            return Failure(mistake=Mistake.WRONG_RESULT, expected=expected, came=came)
        if abs(came - measured[op]) >= 0.5:
            known = known_mistakes(op, measured[op], sizes)
            named = [mistake for mistake, value in known.items() if abs(came - value) < 0.5]
            return Failure(
                mistake=named[0] if named else Mistake.ESTIMATE_WRONG,
                expected=f"{op}: {measured[op]:,.0f} bytes measured",
                came=f"{came:,.0f} bytes predicted",
                where=f"{count_ranks(sizes.world_size)}, {sizes.param_itemsize} bytes per weight "
                f"gathered, {sizes.reduce_itemsize} per gradient reduced",
            )
    return None


def _keys(predicted: object) -> str:
    return ", ".join(map(str, predicted)) if isinstance(predicted, dict) else ""


def known_mistakes(op: str, measured: float, sizes: Sizes) -> dict[Mistake, float]:
    """Return what each usual mistake predicts."""
    own, other = sizes.param_itemsize, sizes.reduce_itemsize
    if op == "reduce_scatter":
        own, other = other, own
    known = {Mistake.ITEMSIZE_FORGOTTEN: measured / own}
    if sizes.world_size > 1:
        known[Mistake.RING_FACTOR_MISSING] = measured / sizes.ring
    if own != other:
        known[Mistake.ITEMSIZES_SWAPPED] = measured / own * other
    if op == "all_gather":
        root, blocks, ring = sizes.root * own, sum(sizes.blocks) * own, sizes.ring
        known[Mistake.BACKWARD_GATHER_FORGOTTEN] = (root + blocks) * ring
        known[Mistake.ROOT_GATHERED_TWICE] = 2 * (root + blocks) * ring
    return known
