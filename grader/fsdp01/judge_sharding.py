"""Judge a sharded model: who holds what, and what one step sends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from grader.cases import Case
from grader.fsdp01.judge_units import judge_units, judge_wrapping
from grader.fsdp01.units import Collectives, expected_collectives
from grader.judge_step import judge_gradients
from grader.mistakes import Mistake
from grader.parity import is_close
from grader.shards import Shard, chunk_rows, padded_numel
from grader.truth import StepTruth
from grader.verdict import Failure
from sandbox.ledger import Ledger

if TYPE_CHECKING:
    from grader.fsdp01.shard_model import Observation

SLACK_BYTES = 512  # a small tensor that the answer keeps for itself is nobody's copy of a weight


def judge_structure(seen: Sequence[Observation], weights: Mapping[str, Tensor]) -> Failure | None:
    """Judge what is held and which units there are, before any step."""
    for rank, observation in enumerate(seen):
        failure = (
            _judge_returned(observation)
            or judge_wrapping(observation.weights, observation.blocks)
            or _judge_place(observation)
            or _judge_shards(observation, weights, rank, len(seen))
            or _judge_bytes(observation, rank, len(seen))
            or judge_units(observation.blocks, observation.units)
        )
        if failure is not None:
            return replace(failure, where=f"rank {rank}")
    return None


def _judge_returned(observation: Observation) -> Failure | None:
    if observation.returned == "Module":
        return None
    return Failure(
        mistake=Mistake.WRONG_RESULT, expected="the sharded model", came=observation.returned
    )


def _judge_place(observation: Observation) -> Failure | None:
    if observation.is_in_place:
        return None
    return Failure(
        mistake=Mistake.NOT_IN_PLACE,
        expected="the model that was given, sharded",
        came="other parameters than the given model's",
    )


def _judge_shards(
    observation: Observation, weights: Mapping[str, Tensor], rank: int, world_size: int
) -> Failure | None:
    """Compare each shard with the rows that torch.chunk gives this rank."""
    if missing := weights.keys() - observation.weights.keys():
        came = f"no parameter '{min(missing)}'"
        return Failure(mistake=Mistake.WRONG_RESULT, expected="the model itself", came=came)
    for name, whole in weights.items():
        shard = observation.weights[name]
        failure = _judge_placement(shard, world_size) or _judge_rows(shard, whole, rank, world_size)
        if failure is not None:
            return failure
    return None


def _judge_placement(shard: Shard, world_size: int) -> Failure | None:
    everyone = list(range(world_size))
    if shard.mesh == everyone and shard.placements == ("S(0)",):
        return None
    is_copied = "R" in (shard.placements or ()) or shard.mesh != everyone
    return Failure(
        mistake=Mistake.REPLICATED if is_copied else Mistake.WRONG_SHARD,
        expected=f"'{shard.name}' placed as S(0) over ranks {everyone}",
        came=f"placed as {', '.join(shard.placements or ())} over ranks {shard.mesh}",
    )


def _judge_rows(shard: Shard, whole: Tensor, rank: int, world_size: int) -> Failure | None:
    first, stop = chunk_rows(len(whole), rank, world_size)
    expected = whole[first:stop]
    if shard.local.shape != expected.shape:
        return Failure(
            mistake=Mistake.WRONG_SHARD,
            expected=f"'{shard.name}' rows {first}:{stop}, shape {tuple(expected.shape)}",
            came=f"shape {tuple(shard.local.shape)}",
        )
    if not torch.equal(shard.local, expected):
        return Failure(
            mistake=Mistake.SHARDED_STATE_CORRUPT,
            expected=f"'{shard.name}' rows {first}:{stop} with the model's values",
            came="other values",
        )
    return None


def _judge_bytes(observation: Observation, rank: int, world_size: int) -> Failure | None:
    """Find a second copy: all bytes that this rank's tensors hold are its padded shards'."""
    shards = observation.weights.values()
    share = sum(
        padded_numel(shard.shape, world_size) // world_size * shard.local.element_size()
        for shard in shards
    )
    if observation.held_bytes <= share + SLACK_BYTES:
        return None
    return Failure(
        mistake=Mistake.REPLICATED,
        expected=f"{share:,} bytes held on each rank: its padded shards",
        came=f"{observation.held_bytes:,} bytes on rank {rank}",
    )


# -- one step -------------------------------------------------------------------------------------


def judge_step(
    seen: Sequence[Observation], ledger: Ledger, truth: StepTruth, case: Case
) -> Failure | None:
    """Judge the collectives of one forward and backward, and the gradients they left."""
    return _judge_collectives(seen, ledger, case) or _judge_gradients(seen, truth)


def _judge_collectives(seen: Sequence[Observation], ledger: Ledger, case: Case) -> Failure | None:
    for rank, observation in enumerate(seen):
        shapes = {name: shard.shape for name, shard in observation.weights.items()}
        expected = expected_collectives(observation.units, shapes, case.frozen, len(seen))
        came = [_counts(phase) for phase in ledger.phases(rank)[-3:-1]]
        for name, wanted, issued in zip(("forward", "backward"), expected, came, strict=True):
            if wanted != issued:
                return Failure(
                    mistake=Mistake.WRONG_COLLECTIVES,
                    expected=f"in {name}: {_list(wanted)}",
                    came=_list(issued),
                    where=f"rank {rank}",
                )
    return None


def _counts(phase: Ledger) -> Collectives:
    return Counter((event.op.value, event.numel) for event in phase)


def _list(collectives: Collectives) -> str:
    lines = [
        f"{count} {op} of {numel:,} elements" for (op, numel), count in sorted(collectives.items())
    ]
    return ", ".join(lines) or "none"


def _judge_gradients(seen: Sequence[Observation], truth: StepTruth) -> Failure | None:
    losses = [observation.loss for observation in seen if observation.loss is not None]
    mean = sum(losses) / len(losses)
    if not is_close(mean, truth.loss):
        return Failure(
            mistake=Mistake.WRONG_LOSS,
            expected=f"mean loss of the ranks {truth.loss:.6g}",
            came=f"{mean:.6g}",
            where="all ranks",
        )
    return judge_gradients([observation.gradients for observation in seen], [truth])
