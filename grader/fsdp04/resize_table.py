"""Measure which checkpoints survive a resize: saved on 4 ranks, loaded on 4 and on 2."""

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor

import sandbox
from grader import explain, verdict
from grader.cases import fixed_batch, new_mesh, share_of
from grader.fsdp04.exercise import LoadShards, NewState, SaveShards
from grader.fsdp04.resized_engines import Engine, make_universal
from grader.fsdp04.state import take_step
from sandbox.failure import count_ranks

SAVED_ON = 4
LOADED_ON = (4, 2)
NUM_SAVED_STEPS = 3
TOLERANCE = 1e-5  # float32, and sums in another order on another number of ranks
TIMEOUT_S = 120.0  # it takes ten seconds
STAGES = (1, 2, 3)
WEIGHTS_ALONE, UNIVERSAL = ", weights alone", ", universal"
ENGINES = (
    *((stage, "") for stage in STAGES),
    (1, WEIGHTS_ALONE),
    *((stage, UNIVERSAL) for stage in STAGES),
)
CONFIG: dict[str, Any] = {"model": {"num_blocks": 1}, "lr": 1e-2, "warmup_steps": 1}


@dataclass(frozen=True)
class Going:
    """The first moments and the weights after the next step: what was loaded decides them."""

    moments: dict[str, Tensor]
    weights: dict[str, Tensor]


Seen = dict[str, Going | str]  # by what was saved how; a text is what loading raised


@explain.telling_stubs("compare_resizes")
def compare_resizes(new_state: NewState, save_shards: SaveShards, load_shards: LoadShards) -> None:
    """Print a table of what goes on as if nothing had happened, on 4 ranks and on 2."""
    if verdict.is_left_out():
        return
    with tempfile.TemporaryDirectory(prefix="shardlab-") as path:
        saved = sandbox.launch(
            observe_saving, new_state, save_shards, path, world_size=SAVED_ON, timeout_s=TIMEOUT_S
        ).results[0]
        seen = [
            sandbox.launch(
                observe_loading,
                new_state,
                load_shards,
                path,
                world_size=world_size,
                timeout_s=TIMEOUT_S,
            ).results[0]
            for world_size in LOADED_ON
        ]
    verdict.show(table(saved, dict(zip(LOADED_ON, seen, strict=True))))


def observe_saving(new_state: NewState, save_shards: SaveShards, path: str) -> dict[str, Going]:
    """Train and save in each way; return what each run goes on with."""
    state = new_state(CONFIG, new_mesh())
    for number in range(NUM_SAVED_STEPS):
        take_step(state, share_of(fixed_batch(number)))
    save_shards(f"{path}/FSDP2", state)
    going = {"FSDP2 + DCP": _go_on(state)}
    for stage in STAGES:
        engine, where = Engine(stage), f"{path}/{stage}"
        for number in range(NUM_SAVED_STEPS):
            engine.step(number)
        engine.save(where)
        if dist.get_rank() == 0:
            make_universal(where)
        going[f"ZeRO-{stage}"] = _go_on_with(engine)
    return going


def observe_loading(new_state: NewState, load_shards: LoadShards, path: str) -> Seen:
    """Load in each way what was saved, into other weights; return what each run goes on with."""
    state = new_state({**CONFIG, "model": {"num_blocks": 1, "seed": 9}}, new_mesh())
    load_shards(f"{path}/FSDP2", state)
    seen: Seen = {"FSDP2 + DCP": _go_on(state)}
    for stage, kind in ENGINES:
        seen[f"ZeRO-{stage}{kind}"] = _load_and_go_on(stage, kind, f"{path}/{stage}")
    return seen


def _load_and_go_on(stage: int, kind: str, path: str) -> Going | str:
    from deepspeed.runtime.zero.utils import ZeRORuntimeException

    engine = Engine(stage, is_universal=kind == UNIVERSAL, seed=9)
    try:
        engine.load(path, weights_only=kind == WEIGHTS_ALONE)
    except ZeRORuntimeException as error:
        return f"{type(error).__name__}: {error}"
    return _go_on_with(engine)


def _go_on_with(engine: Engine) -> Going:
    engine.step(NUM_SAVED_STEPS)
    return Going(engine.moments(), engine.weights())


def _go_on(state: Any) -> Going:
    take_step(state, share_of(fixed_batch(NUM_SAVED_STEPS)))
    named, states = list(state.model.named_parameters()), state.optimizer.state
    moments = {name: _whole(states[weight]["exp_avg"]) for name, weight in named}
    return Going(moments, {name: _whole(weight) for name, weight in named})


def _whole(tensor: Tensor) -> Tensor:
    whole = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
    return whole.detach().to("cpu", copy=True)


# -- the table ------------------------------------------------------------------------------------


def table(saved: Mapping[str, Going], seen: Mapping[int, Seen]) -> str:
    """Return a line for each way to save, and the errors that loading raised below."""
    head = f"saved on {SAVED_ON}, loaded on"
    lines = [f"{head:23}" + "".join(f"{count_ranks(n):10}" for n in seen).rstrip()]
    errors: dict[str, list[str]] = {}
    for name in next(iter(seen.values())):
        truth = saved[name.partition(",")[0]]
        cells = [_compare(by_name[name], truth) for by_name in seen.values()]
        lines.append(f"{name:23}" + "".join(f"{cell:10}" for cell in cells).rstrip())
        for by_name in seen.values():
            if isinstance(error := by_name[name], str):
                errors.setdefault(error, []).append(name)
    lines += [
        "equal: after the next step, all moments and weights are as without a break",
        *(f"{', '.join(names)}: {first_sentence(error)}" for error, names in errors.items()),
    ]
    return "\n".join(lines)


def _compare(came: Going | str, truth: Going) -> str:
    if isinstance(came, str):
        return "refused"
    pairs = ((came.moments, truth.moments), (came.weights, truth.weights))
    gaps = [(some[name] - true[name]).abs().max() for some, true in pairs for name in true]
    return "equal" if torch.stack(gaps).max() < TOLERANCE else "differs"


def first_sentence(text: str) -> str:
    """Return the text up to its first full stop that ends a sentence."""
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0]
