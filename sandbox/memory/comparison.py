"""Prediction beside measurement: the gap of each category, and where it comes from, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.memory.category import Category, Phase
from sandbox.memory.model_states import NUM_MOMENTS, ModelStates
from sandbox.memory.sample import Sample

if TYPE_CHECKING:
    from sandbox.memory.history import Memory

# When each is complete: gradients may be gone after the step.
MEASURED = {
    Category.PARAMETERS: (Phase.STEP, Phase.BACKWARD, Phase.INIT),
    Category.GRADIENTS: (Phase.BACKWARD,),
    Category.OPTIMIZER: (Phase.STEP, Phase.INIT),
}


_NO_STEP = "no step of the optimizer was seen; it makes its states in the first"


@dataclass(frozen=True)
class Row:
    """One category; `measured` and `gap` are None where it was not observed."""

    category: Category
    predicted: int
    measured: int | None
    when: str  # at which moment it was measured
    reasons: tuple[str, ...]

    @property
    def gap(self) -> int | None:
        """Bytes measured beyond the prediction."""
        return None if self.measured is None else self.measured - self.predicted


@dataclass(frozen=True)
class Comparison:
    """The rows of one rank; prints as a table, and draws itself in a notebook."""

    rank: int
    rows: tuple[Row, ...]

    def __getitem__(self, category: Category | str) -> Row:
        return next(row for row in self.rows if row.category == category)

    def __repr__(self) -> str:
        heads = (f"model states of rank {self.rank}, bytes", "predicted", "measured", "gap")
        cells = [heads, *(_cells(row) for row in self.rows)]
        widths = [max(len(line[column]) for line in cells) for column in range(4)]
        lines = []
        for line, reasons in zip(cells, ["", *(_join(row) for row in self.rows)], strict=True):
            numbers = (text.rjust(w) for text, w in zip(line[1:], widths[1:], strict=True))
            lines.append("  ".join([line[0].ljust(widths[0]), *numbers, reasons]).rstrip())
        return "\n".join(lines)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from sandbox.pictures.comparison import draw_comparison
        from sandbox.pictures.picture import bundle

        return bundle([draw_comparison(self)], repr(self))


def compare(memory: Memory, prediction: ModelStates, rank: int) -> Comparison:
    """Return the comparison of one rank: parameters, gradients and optimizer states.

    Raises ValueError where `prediction` is not what `model_states` returns, or one for more ranks
    than there were. (For fewer, groups within the world may have sharded.)
    """
    if not isinstance(prediction, ModelStates):
        raise ValueError(
            f"the prediction is {prediction!r}, expected what model_states returns. Hint: "
            "run.memory.compare(sandbox.model_states(num_params, world_size, stage))"
        )
    if memory.world_size is not None and prediction.world_size > memory.world_size:
        raise ValueError(
            f"the prediction is for {prediction.world_size} ranks, and this run had "
            f"{memory.world_size}. Hint: model_states(…, world_size={memory.world_size})"
        )
    return Comparison(rank, tuple(_row(memory, prediction, rank, c) for c in MEASURED))


def _row(memory: Memory, prediction: ModelStates, rank: int, category: Category) -> Row:
    predicted = getattr(prediction, category)
    sample = _find(memory, rank, MEASURED[category])
    if sample is None:
        phases = " nor ".join(MEASURED[category])
        reasons: tuple[str, ...] = (f"no end of {phases} was seen",)
        return Row(category, predicted, None, "", reasons)
    measured = sample.bytes[category]
    when = f"end of {sample.phase}, step {sample.step}"
    if measured is None:
        reasons = (_explain_unobserved(memory, rank, category),)
    else:
        reasons = tuple(_explain(category, measured, prediction, sample))
    return Row(category, predicted, measured, when, reasons)


def _find(memory: Memory, rank: int, phases: tuple[Phase, ...]) -> Sample | None:
    ends = [sample for sample in memory.of_rank(rank) if sample.is_end]
    for phase in phases:
        if found := [sample for sample in ends if sample.phase is phase]:
            return found[-1]
    return None


def _explain_unobserved(memory: Memory, rank: int, category: Category) -> str:
    if category is not Category.OPTIMIZER:
        return "no module with parameters was made; what is kept by hand is 'other'"
    if any(sample.bytes[category] is not None for sample in memory.of_rank(rank)):
        return _NO_STEP
    return "no optimizer of torch's was made; what is kept by hand is 'other'"


def _explain(
    category: Category, measured: int, prediction: ModelStates, sample: Sample
) -> Iterator[str]:
    """Yield reasons: first what was measured itself, then what exactly fits the rest."""
    rest = measured - getattr(prediction, category)
    if category is Category.OPTIMIZER and not measured and sample.phase is Phase.INIT and rest:
        yield _NO_STEP
        return
    if category is Category.OPTIMIZER and sample.facts.step_counters:
        rest -= sample.facts.step_counters
        yield f"{sample.facts.step_counters:,} B are step counters, scalars of 4 B"
    padding = {
        Category.PARAMETERS: sample.facts.parameters_padding,
        Category.GRADIENTS: sample.facts.gradients_padding,
    }.get(category, 0)
    if padding and rest:
        rest -= padding
        yield f"{padding:,} B lie in the same storages but are of no element: padding"
    if rest:
        yield _explain_rest(category, rest, prediction, measured)


def _explain_rest(category: Category, rest: int, prediction: ModelStates, measured: int) -> str:
    per_param = dict(zip(MEASURED, prediction.bytes_per_param, strict=True))[category]
    whole = prediction.num_params * per_param
    shard_numel = -(-prediction.num_params // prediction.world_size)
    copies = {4 * shard_numel, 4 * prediction.num_params}
    if category is Category.GRADIENTS and not measured:
        return "freed before backward returned"
    if category is Category.PARAMETERS and prediction.stage == 2 and measured < whole // 2:
        return "kept as a shard; whole ('unsharded') only from forward to backward"
    if rest == whole - getattr(prediction, category):
        return "kept whole on this rank, not sharded"
    if category is Category.OPTIMIZER and (name := _find_other_optimizer(rest, prediction)):
        return (
            f"another optimizer than predicted: as {name}, which keeps {NUM_MOMENTS[name]} elements"
            f" per parameter beside the weights, and not {prediction.num_moments}"
        )
    if category is Category.OPTIMIZER and not prediction.has_master_weights and rest in copies:
        return f"{rest:,} B are a copy of the weights beside the moments"
    if abs(rest) <= whole // prediction.world_size // 2:
        return f"{rest:+,} B: whole rows or tensors do not divide evenly among the ranks"
    return f"{rest:+,} B: other sizes than predicted (dtype, frozen or unused parameters, stage)"


def _find_other_optimizer(rest: int, prediction: ModelStates) -> str | None:
    """Return the optimizer whose states would differ by exactly this from the predicted ones."""
    per_param, numel = prediction.bytes_per_param[2], prediction.num_params
    if per_param:
        numel = prediction.optimizer // per_param
    elif prediction.stage > 0:
        numel = -(-numel // prediction.world_size)
    moment = numel * prediction.state_itemsize
    for name, number in NUM_MOMENTS.items():
        if moment and rest == (number - prediction.num_moments) * moment:
            return name
    return None


def _cells(row: Row) -> tuple[str, str, str, str]:
    if row.measured is None:
        return (row.category, f"{row.predicted:,}", "not observed", "")
    return (row.category, f"{row.predicted:,}", f"{row.measured:,}", f"{row.gap:+,}")


def _join(row: Row) -> str:
    when = f"({row.when})" if row.when else ""
    return f"{when} {'; '.join(row.reasons)}".strip()
