"""Step 3: shards in fp32, gathered and computed in bf16, gradients reduced in fp32."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh

from grader.cases import FROZEN, SMALL, TIED, UNEVEN, Case
from grader.fsdp01.judge_sharding import judge_structure
from grader.fsdp01.shard_model import Observation, observe
from grader.fsdp03.exercise import Check
from grader.mistakes import Mistake
from grader.shards import Shard
from grader.truth import one_thread, weights_of
from grader.verdict import Failure
from sandbox import toys
from sandbox.ledger import Ledger

ShardMixed = Callable[[nn.Module, DeviceMesh], nn.Module]

CASES = (
    Case(world_size=2, model=TIED, data_seed=2, dtype=torch.float32),
    Case(world_size=3, model=UNEVEN, frozen=FROZEN, data_seed=3, dtype=torch.float32),
    Case(world_size=4, model=SMALL, data_seed=4, dtype=torch.float32),
    Case(world_size=1, model=SMALL, data_seed=1, dtype=torch.float32),
)
# bf16 has 8 bits; sums in another order differ in the last of them. A wrong factor is 2 or more.
TOLERANCE = 0.03


def check_shard_mixed(shard_mixed: ShardMixed) -> None:
    """Judge `shard_mixed(model, mesh) -> model` on 1 to 4 ranks."""
    proof = (
        "shards in fp32, every gather in bf16, every reduce-scatter in fp32, and the gradients\n"
        "  are those of bf16 compute: on 1, 2, 3 and 4 ranks"
    )
    with Check("shard_mixed", proof, shard_mixed) as check:
        for case in CASES:
            run = check.launch(
                observe, shard_mixed, case, world_size=case.world_size, case=case.text
            )
            check.judge(
                judge_state(run.results)
                or judge_structure(run.results, weights_of(case.new_model()))
                or judge_dtypes(run.ledger, case.world_size)
                or judge_gradients([entry.gradients for entry in run.results], case)
            )


def judge_state(seen: Sequence[Observation]) -> Failure | None:
    """Judge that what each rank holds is in fp32."""
    for rank, observation in enumerate(seen):
        for name, shard in observation.weights.items():
            if shard.local.dtype is not torch.float32:
                return Failure(
                    mistake=Mistake.PURE_BF16_STATE,
                    expected=f"'{name}' held in float32",
                    came=str(shard.local.dtype).removeprefix("torch."),
                    where=f"rank {rank}",
                )
    return None


def judge_dtypes(ledger: Ledger, world_size: int) -> Failure | None:
    """Judge the dtype of every all-gather and every reduce-scatter; one rank issues none."""
    if world_size == 1:
        return None
    gathered = [event.dtype for event in ledger.where(op="all_gather", rank=0)]
    reduced = [event.dtype for event in ledger.where(op="reduce_scatter", rank=0)]
    if len(set(gathered)) > 1 or len(set(reduced)) > 1:
        mistake = Mistake.HALF_MIXED
    elif set(gathered) == {"float32"}:
        mistake = Mistake.NOT_MIXED
    elif set(gathered) != {"bfloat16"}:
        mistake = Mistake.WRONG_PARAM_DTYPE
    elif set(reduced) != {"float32"}:
        mistake = Mistake.REDUCED_IN_BF16
    else:
        return None
    came = f"all_gather in {_list(gathered)}, reduce_scatter in {_list(reduced)}"
    expected = "all_gather in bfloat16, reduce_scatter in float32"
    return Failure(mistake=mistake, expected=expected, came=came, where="rank 0, one step")


def _list(dtypes: Sequence[str]) -> str:
    return " and ".join(sorted(set(dtypes))) or "none"


def judge_gradients(gradients: Sequence[Mapping[str, Shard]], case: Case) -> Failure | None:
    """Compare with bf16 compute in one process; the logits may be bf16 or cast to fp32."""
    failures = []
    for logits_dtype in (torch.bfloat16, torch.float32):
        with one_thread():
            truth = mixed_gradients(case, logits_dtype)
        failure = _judge_gradients(gradients, truth)
        if failure is None:
            return None
        failures.append(failure)
    return failures[0]


def _judge_gradients(
    gradients: Sequence[Mapping[str, Shard]], truth: Mapping[str, Tensor]
) -> Failure | None:
    for name, whole in truth.items():
        came = [shards[name].local for shards in gradients if name in shards]
        rows = torch.cat(came) if came else torch.empty(0)
        gap = (rows - whole).norm() / whole.norm() if rows.shape == whole.shape else torch.inf
        if not gap <= TOLERANCE:  # NaN is no small gap
            return Failure(
                mistake=Mistake.WRONG_GRADIENT,
                expected=f"gradient of '{name}' with norm {whole.norm():.3g}, to {TOLERANCE:.0%}",
                came=f"norm {rows.norm():.3g}, off by {gap:.0%} of it",
                where="all ranks' rows together",
            )
    return None


def mixed_gradients(case: Case, logits_dtype: torch.dtype) -> dict[str, Tensor]:
    """Return the mean over the ranks of gradients computed in bf16, added up in fp32."""
    total: dict[str, Tensor] = {}
    for rank in range(case.world_size):
        model = replace(case, dtype=torch.bfloat16).new_model()
        tokens = case.tokens(0, rank)
        toys.next_token_loss(model(tokens).to(logits_dtype), tokens).backward()
        for name, weight in model.named_parameters():
            if weight.grad is not None:
                part = weight.grad.float() / case.world_size
                total[name] = total[name] + part if name in total else part
    return total
