"""FSDP2: what each rank holds, against a count by hand of rows, padding and gathered parameters."""

from __future__ import annotations

import functools
import math

import pytest
import torch

import sandbox
from sandbox.memory.history import Memory
from sandbox.run import Run
from sandbox.toys import Transformer

SHAPE = {"vocab_size": 37, "dim": 12, "hidden_dim": 21, "num_blocks": 2}  # odd for 2, 3 and 4 ranks


def live_bytes() -> int:
    """Count what the garbage collector knows of: another way to see every tensor that is named."""
    import gc

    import torch
    from torch.distributed.tensor import DTensor

    gc.collect()
    tensors = [entry for entry in gc.get_objects() if issubclass(type(entry), torch.Tensor)]
    local = [t.to_local() if isinstance(t, DTensor) else t for t in tensors]
    storages = {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in local}
    return sum(storages.values())


def train(*, reshard: bool, compute_dtype: str | None, checkpointing: bool, tied: bool) -> int:
    """Two steps of a sharded transformer; the first block's norms are frozen.

    Returns the bytes of all tensors that are alive at the end.
    """
    import torch
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    from torch.utils.checkpoint import checkpoint

    from sandbox.toys import Transformer, next_token_loss, token_samples

    model = Transformer(**SHAPE, tied=tied)
    model.blocks[0].attention_norm.requires_grad_(False)
    dtype = compute_dtype and getattr(torch, compute_dtype)
    policy = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32 if dtype else None)
    if checkpointing:
        for block in model.blocks:
            block.forward = functools.partial(
                checkpoint, block.forward, use_reentrant=False, preserve_rng_state=False
            )
    for module in (*model.blocks, model):
        fully_shard(module, reshard_after_forward=reshard, mp_policy=policy)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    tokens = token_samples(range(2), vocab_size=37)
    for _ in range(2):
        next_token_loss(model(tokens), tokens).backward()
        optimizer.step()
        optimizer.zero_grad()
    return live_bytes()


@functools.cache
def run(
    world_size: int,
    *,
    reshard: bool = True,
    compute_dtype: str | None = None,
    checkpointing: bool = False,
    tied: bool = False,
) -> Run:
    options = {"reshard": reshard, "compute_dtype": compute_dtype}
    options |= {"checkpointing": checkpointing, "tied": tied}
    return sandbox.launch(train, **options, world_size=world_size, memory=True, timeout_s=60)


def measure(world_size: int, **options) -> Memory:
    return run(world_size, **options).memory


def parameters(*, trained: bool = False, tied: bool = False) -> list[torch.nn.Parameter]:
    model = Transformer(**SHAPE, tied=tied)
    model.blocks[0].attention_norm.requires_grad_(False)
    return [p for p in model.parameters() if p.requires_grad or not trained]


def padded_numel(parameter: torch.Tensor, world_size: int) -> int:
    """As torch.chunk cuts: every rank stores as many rows as the first."""
    return math.ceil(len(parameter) / world_size) * parameter[0].numel()


def real_numel(parameter: torch.Tensor, rank: int, world_size: int) -> int:
    chunks = parameter.chunk(world_size)
    return chunks[rank].numel() if rank < len(chunks) else 0


@pytest.mark.parametrize(("world_size", "tied"), [(1, False), (2, False), (3, True), (4, False)])
def test_parameters_gradients_and_optimizer_states_are_exact_on_every_rank(
    world_size: int, tied: bool
) -> None:
    memory = measure(world_size, tied=tied)
    every, trained = parameters(tied=tied), parameters(trained=True, tied=tied)
    for rank in range(world_size):
        shards = sum(padded_numel(p, world_size) for p in every) * 4
        gradients = sum(padded_numel(p, world_size) for p in trained) * 4
        # AdamW makes moments of the real rows only, and a step counter (4 bytes) per parameter.
        moments = sum(2 * real_numel(p, rank, world_size) * 4 for p in trained)
        assert memory.at("init", rank).bytes["parameters"] == shards
        backward, step = memory.at("backward", rank, step=0), memory.at("step", rank, step=0)
        assert backward.bytes["gradients"] == gradients
        assert step.bytes["optimizer"] == moments + 4 * len(trained)
        assert step.facts.step_counters == 4 * len(trained)
        real = sum(real_numel(p, rank, world_size) for p in every) * 4
        assert step.facts.parameters_padding == shards - real
        assert [b for s in (backward, step) for b in (s.bytes["unsharded"],)] == [0, 0]
        assert step.bytes["parameters"] == shards


def test_without_resharding_all_parameters_are_whole_at_the_end_of_forward() -> None:
    memory = measure(3, reshard=False)
    whole = sum(3 * padded_numel(p, 3) for p in parameters()) * 4
    for rank in range(3):
        assert memory.at("init", rank).bytes["unsharded"] == 0
        assert memory.at("forward", rank).bytes["unsharded"] == whole
        assert memory.at("loss", rank).bytes["unsharded"] == whole
        assert memory.at("backward", rank).bytes["unsharded"] == 0


def test_with_resharding_none_is_left_but_some_are_in_between() -> None:
    memory = measure(3, tied=True)
    assert memory.at("forward", 1).bytes["unsharded"] == 0
    most = max(s.bytes["unsharded"] for s in memory.of_rank(1) if s.phase == "forward")
    block = sum(3 * padded_numel(p, 3) for p in Transformer(**SHAPE).blocks[1].parameters()) * 4
    everything = sum(3 * padded_numel(p, 3) for p in parameters(tied=True)) * 4
    assert block <= most < everything


def test_in_mixed_precision_shards_stay_fp32_and_gathered_parameters_are_half() -> None:
    memory = measure(2, reshard=False, compute_dtype="bfloat16")
    numel = sum(padded_numel(p, 2) for p in parameters())
    assert memory.at("init", 1).bytes["parameters"] == numel * 4
    assert memory.at("forward", 1).bytes["unsharded"] == 2 * numel * 2
    trained = sum(padded_numel(p, 2) for p in parameters(trained=True))
    assert memory.at("backward", 1).bytes["gradients"] == trained * 4  # reduced in fp32


def test_checkpointing_keeps_only_the_inputs_of_blocks_and_changes_nothing_else() -> None:
    whole, recomputed = measure(2).at("forward"), measure(2, checkpointing=True).at("forward")
    # (2, 12) tokens of 12 features: what enters and leaves blocks, and the norm; the logits; the
    # root mean square of each token, twice: once as it is, once with 1e-6 added.
    token = 2 * 12 * 4
    assert recomputed.bytes["activations"] < whole.bytes["activations"] / 3
    assert recomputed.bytes["activations"] >= 3 * 12 * token + 37 * token
    for category in ("parameters", "gradients", "optimizer", "unsharded"):
        assert recomputed.bytes[category] == whole.bytes[category]


def test_the_total_at_the_end_is_that_of_all_live_tensors() -> None:
    found = run(3, tied=True)
    for rank in range(3):
        assert found.memory.of_rank(rank)[-1].total == found.results[rank]


def test_communication_buffers_come_and_go() -> None:
    """When exactly gloo's thread lets go of one, is not certain."""
    memory = measure(4)
    assert max(s.bytes["buffers"] for s in memory.of_rank(0) if s.phase == "forward") > 0
    assert min(s.bytes["buffers"] for s in memory.of_rank(0) if s.is_end and s.step == 1) == 0


def test_the_comparison_explains_what_sharding_by_rows_costs() -> None:
    num_params = sum(p.numel() for p in parameters())
    comparison = measure(4).compare(sandbox.model_states(num_params, 4, "FULL_SHARD"), rank=3)
    assert "padding" in repr(comparison)
    assert "step counters" in repr(comparison)
    row = comparison["parameters"]
    assert row.gap == row.measured - row.predicted > 0


def final_weights() -> list[float]:
    import torch
    from torch.distributed.fsdp import fully_shard

    from sandbox.toys import Transformer, next_token_loss, token_samples

    model = fully_shard(Transformer(**SHAPE))
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = token_samples(range(2), vocab_size=37)
    next_token_loss(model(tokens), tokens).backward()
    optimizer.step()
    return [p.full_tensor().double().sum().item() for p in model.parameters()]


def test_tracking_changes_no_result_and_no_collective() -> None:
    plain, tracked = (sandbox.launch(final_weights, world_size=2, memory=m) for m in (False, True))
    assert tracked.results == plain.results
    assert repr(tracked.ledger) == repr(plain.ledger)
