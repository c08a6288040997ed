"""Step 3: a sharded model, and an optimizer over the parameters that it really has."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh

import sandbox
from grader.cases import CASES, Case, new_mesh
from grader.fsdp01.exercise import Check
from grader.fsdp01.judge_units import judge_units, judge_wrapping
from grader.fsdp01.units import Unit, blocks_of, units_of
from grader.judge_step import judge_initial
from grader.mistakes import Mistake
from grader.parity import find_difference
from grader.shards import Shard, padded_numel, shards_of
from grader.truth import StepTruth, train, weights_of
from grader.verdict import Failure
from grader.whose_line import uses
from sandbox import toys

Build = Callable[[dict[str, Any], DeviceMesh], tuple[nn.Module, torch.optim.Optimizer]]
MODEL_SEED = 7
EXPECTED_DEFAULTS = {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01, "amsgrad": False}


@dataclass(frozen=True)
class Observation:
    """What one rank saw of the pair, before and after one step."""

    returned: str
    optimizer_kind: str = ""
    options: list[dict[str, Any]] = field(default_factory=list)  # of each param group
    num_parameters: int = 0
    num_held_by_optimizer: int = 0  # how many of the model's parameters the optimizer has
    num_others_held: int = 0  # and how many tensors that are none of them
    is_config_kept: bool = True
    blocks: tuple[str, ...] = ()
    units: tuple[Unit, ...] = ()
    moment_bytes: int = 0
    initial: dict[str, Shard] = field(default_factory=dict)
    weights: dict[str, Shard] = field(default_factory=dict)


def check_build(build: Build) -> None:
    """Judge `build(config, mesh) -> (model, optimizer)` on 1 to 4 ranks."""
    proof = "the optimizer moves the sharded weights, and each rank holds its share of the moments"
    with Check("build", proof, build) as check:
        has_own_units = not uses("shard_model", [build])  # else they are step 2's
        for number, case in enumerate(replace(case, frozen=()) for case in CASES):
            lr = 10.0 ** -(2 + number)
            run = check.launch(observe, build, case, lr, world_size=case.world_size, case=case.text)
            initial = weights_of(case.new_model(MODEL_SEED))
            [truth] = train(case.new_model(MODEL_SEED), lr, [case.global_tokens(0)])
            check.judge(judge(run.results, initial, truth, lr, has_own_units))


def observe(build: Build, case: Case, lr: float) -> Observation:
    """Build the pair, look at it, and let it take one step."""
    config = {"model": {**case.model, "seed": MODEL_SEED, "dtype": torch.float64}, "lr": lr}
    given = copy.deepcopy(config)
    pair = build(given, new_mesh())
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        return Observation(returned=type(pair).__name__)
    model, optimizer = pair
    if not isinstance(model, nn.Module) or not isinstance(optimizer, torch.optim.Optimizer):
        return Observation(returned=f"({type(model).__name__}, {type(optimizer).__name__})")
    held = [weight for group in optimizer.param_groups for weight in group["params"]]
    held_ids, own_ids = set(map(id, held)), set(map(id, model.parameters()))
    blocks, units = blocks_of(model), units_of(model)
    initial = shards_of(model.named_parameters())
    tokens = case.tokens(0, dist.get_rank()).to(sandbox.device())
    toys.next_token_loss(model(tokens), tokens).backward()
    optimizer.step()
    moments = shards_of(
        (f"{number}.{key}", value)
        for number, state in enumerate(optimizer.state.values())
        for key, value in state.items()
        if isinstance(value, torch.Tensor) and value.ndim > 0
    )
    return Observation(
        returned="pair",
        optimizer_kind=_kind_of(optimizer),
        options=[
            {key: group.get(key) for key in ("lr", *EXPECTED_DEFAULTS)}
            for group in optimizer.param_groups
        ],
        num_parameters=len(own_ids),
        num_held_by_optimizer=len(own_ids & held_ids),
        num_others_held=len(held_ids - own_ids),
        is_config_kept=given == config,
        blocks=blocks,
        units=units,
        moment_bytes=sum(moment.storage_bytes for moment in moments.values()),
        initial=initial,
        weights=shards_of(model.named_parameters()),
    )


def _kind_of(optimizer: torch.optim.Optimizer) -> str:
    """Return "AdamW" for whatever decays weights as it does: a subclass, or an option of Adam."""
    is_adam = isinstance(optimizer, torch.optim.Adam)
    groups = optimizer.param_groups
    is_decoupled = all(group.get("decoupled_weight_decay") for group in groups)
    return "AdamW" if is_adam and is_decoupled else type(optimizer).__name__


def judge(
    seen: Sequence[Observation],
    initial: Mapping[str, Tensor],
    truth: StepTruth,
    lr: float,
    has_own_units: bool = True,
) -> Failure | None:
    """Judge the model, the optimizer's settings and bytes, and the weights before and after a step.

    `initial` is the weights that the model starts with. Units are judged where they are its own:
    those of shard_model cost the points of step 2.
    """
    for rank, observation in enumerate(seen):
        failure = (
            _judge_returned(observation)
            or _judge_model(observation, truth)
            or judge_wrapping(observation.initial, observation.blocks)
            or (has_own_units and judge_units(observation.blocks, observation.units))
            or _judge_optimizer(observation, lr)
            or _judge_moments(observation, truth, len(seen))
        )
        if failure:
            return replace(failure, where=f"rank {rank}")
    if failure := judge_initial([observation.initial for observation in seen], initial):
        return failure
    difference = find_difference([observation.weights for observation in seen], truth.weights)
    if difference is None:
        return None
    return difference.as_failure(Mistake.WRONG_WEIGHTS, "weight after one step")


def _judge_returned(observation: Observation) -> Failure | None:
    if not observation.is_config_kept:
        return Failure(mistake=Mistake.CONFIG_CHANGED)
    if observation.returned == "pair":
        return None
    expected = "(model, optimizer)"
    return Failure(mistake=Mistake.WRONG_RESULT, expected=expected, came=observation.returned)


def _judge_model(observation: Observation, truth: StepTruth) -> Failure | None:
    """Judge the names, shapes and dtypes of the parameters; a wrapper may put "module." first."""
    expected = {name: _text_of(w.shape, w.dtype) for name, w in truth.weights.items()}
    came = {
        name.removeprefix("module."): _text_of(shard.shape, shard.local.dtype)
        for name, shard in observation.weights.items()
    }
    for name in {**expected, **came}:
        if expected.get(name) != came.get(name):
            return Failure(
                mistake=Mistake.WRONG_MODEL,
                expected=f"'{name}': {expected.get(name, 'no such parameter')}",
                came=came.get(name, "no such parameter"),
            )
    return None


def _text_of(shape: Sequence[int], dtype: torch.dtype) -> str:
    return f"{tuple(shape)}, {dtype}"


def _judge_optimizer(observation: Observation, lr: float) -> Failure | None:
    held, others = observation.num_held_by_optimizer, observation.num_others_held
    if held < observation.num_parameters or others:
        return Failure(
            mistake=Mistake.OPTIMIZER_BEFORE_SHARD if others else Mistake.OPTIMIZER_INCOMPLETE,
            expected=f"an optimizer over the model's {observation.num_parameters} parameters",
            came=f"it holds {held} of them" + (f", and {others} that are not" if others else ""),
        )
    if observation.optimizer_kind != "AdamW":
        came = observation.optimizer_kind
        return Failure(mistake=Mistake.WRONG_OPTIMIZER, expected="AdamW", came=came)
    for name, expected in {"lr": lr, **EXPECTED_DEFAULTS}.items():
        for options in observation.options:
            if options[name] != expected:
                return Failure(
                    mistake=Mistake.WRONG_OPTIMIZER,
                    expected=f"{name}={expected}",
                    came=f"{name}={options[name]}",
                )
    return None


def _judge_moments(observation: Observation, truth: StepTruth, world_size: int) -> Failure | None:
    """AdamW keeps two moments per weight: a rank's are twice as large as its shards."""
    share = sum(
        padded_numel(weight.shape, world_size) // world_size * weight.element_size()
        for weight in truth.weights.values()
    )
    if observation.moment_bytes <= 2 * share:
        return None
    return Failure(
        mistake=Mistake.REPLICATED,
        expected=f"at most {2 * share:,} bytes of AdamW moments on each rank",
        came=f"{observation.moment_bytes:,} bytes",
    )
