"""DeepSpeed engines as the grader makes and reads them, and the truth that they must meet."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

import sandbox
from grader.cases import FROZEN, TIED, UNEVEN, Case
from grader.fsdp02.ds_config import LR
from grader.mistakes import Mistake
from grader.truth import StepTruth, train
from grader.verdict import Failure
from sandbox import toys

MAX_NORM = 0.5
ACCUMULATION_STEPS = 2
NUM_STEPS = 2
# DeepSpeed takes norms and keeps moments in float32, whatever the model's dtype.
TOLERANCE = 2e-5
PERSISTENT_NUMEL = 100  # some parameters stay whole, most do not

# The stage, and the model and ranks to train it on.
CASES = (
    (1, Case(world_size=3, model=UNEVEN, frozen=FROZEN, data_seed=1, dtype=torch.float32)),
    (2, Case(world_size=2, model=TIED, data_seed=2, dtype=torch.float32)),
    (3, Case(world_size=2, model=TIED, frozen=FROZEN, data_seed=3, dtype=torch.float32)),
)


def new_config(stage: int, world_size: int) -> dict[str, Any]:
    """Return a config for training in fp32, in buckets that a toy fills."""
    zero: dict[str, Any] = {"stage": stage, "reduce_bucket_size": 4_000}
    if stage == 3:
        zero["stage3_param_persistence_threshold"] = PERSISTENT_NUMEL
    return {
        "train_batch_size": 2 * ACCUMULATION_STEPS * world_size,
        "train_micro_batch_size_per_gpu": 2,
        "gradient_accumulation_steps": ACCUMULATION_STEPS,
        "gradient_clipping": MAX_NORM,
        "optimizer": {"type": "AdamW", "params": {"lr": LR, "torch_adam": True}},
        "zero_optimization": zero,
    }


def new_engine(model: nn.Module, stage: int) -> Any:
    """Return an engine over the trained parameters of `model`. Collective: all ranks."""
    import deepspeed

    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    config = new_config(stage, dist.get_world_size())
    engine, *_ = deepspeed.initialize(model=model, config=config, model_parameters=trained)
    return engine


def micro_batches(case: Case, num_steps: int, first: int = 0) -> list[Tensor]:
    """Return this rank's micro-batches of `num_steps` steps, from step `first` on."""
    numbers = range(first * ACCUMULATION_STEPS, (first + num_steps) * ACCUMULATION_STEPS)
    return [case.tokens(number, dist.get_rank()) for number in numbers]


def train_step(engine: Any, case: Case, step: int) -> None:
    """Take one step on this rank's micro-batches. Collective: all ranks."""
    for tokens in micro_batches(case, 1, first=step):
        tokens = tokens.to(sandbox.device())
        engine.backward(toys.next_token_loss(engine(tokens), tokens))
        engine.step()


def truths_of(case: Case, num_steps: int) -> list[StepTruth]:
    """Return one process's steps on all ranks' micro-batches, clipped as DeepSpeed clips."""
    batches = [
        torch.cat([case.global_tokens(first + micro) for micro in range(ACCUMULATION_STEPS)])
        for first in range(0, num_steps * ACCUMULATION_STEPS, ACCUMULATION_STEPS)
    ]
    return train(case.new_model(), LR, batches, MAX_NORM)


def judge_weights(
    weights_by_rank: Sequence[Mapping[str, Tensor]],
    truth: Mapping[str, Tensor],
    mistake: Mistake,
    *,
    expected: str = "weight {:.6g}",
    next_step: str,
) -> Failure | None:
    """Return `mistake` at the largest difference beyond rounding; `expected` formats the truth."""
    worst: tuple[float, Failure] | None = None
    for rank, weights in enumerate(weights_by_rank):
        for name, whole in truth.items():
            gap = (weights[name].to(whole.dtype) - whole).abs().flatten()
            gap = torch.where(gap.isnan(), torch.inf, gap)
            place = int(gap.argmax())
            if gap[place] > TOLERANCE and (worst is None or gap[place] > worst[0]):
                failure = Failure(
                    mistake=mistake,
                    expected=expected.format(whole.flatten()[place].item()),
                    came=f"{weights[name].flatten()[place].item():.6g}",
                    where=f"rank {rank}, '{name}'",
                    next_step=next_step,
                )
                worst = (gap[place].item(), failure)
    return None if worst is None else worst[1]
