# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # fsdp01 · Shard a model with FSDP2, train it with Ray Train
#
# **Why.** Training with AdamW in fp32 keeps four numbers per weight: the weight, its gradient, and two moments. That is
# 16 bytes. Seven billion weights make 112 GB, before the first activation. Plain data parallelism (DDP) puts all of it on
# every rank; more ranks make training faster, and never make it fit.
#
# **How.** The ranks only need a weight whole while they compute with it. So each rank keeps a *shard* of every weight,
# of its gradient and of its moments: 16 / N bytes on N ranks. Just before a layer runs, its weights are gathered from all
# ranks (`all_gather`); just after, the whole is dropped again. In backward each rank computes gradients from its own
# samples; `reduce_scatter` averages them over the ranks and leaves every rank the rows that it owns.
#
# **The price** is communication. At the end you predict it to the byte, and measure it.
#
# You build this in ten steps, on real ranks: processes that talk over gloo on this machine. Each step has a function to
# write and a check. A check that fails says which mistake it is, on which rank, and what to do next; `fsdp01.hint(3)`
# gives a hint for step 3, and more when you ask again. What a check is worth stands in the heading of its step.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# %load_ext sandbox

import functools
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import sandbox
from grader import fsdp01
from sandbox import toys

# %% [markdown]
# The model is a small decoder-only transformer: an embedding, a few blocks of attention and feed-forward, a norm, a head.
# Its code is plain torch, `toys.Transformer??` shows it.

# %%
model = toys.Transformer()
numel = sum(parameter.numel() for parameter in model.parameters())
print(
    f"{len(model.blocks)} blocks, {numel:,} parameters: {16 * numel:,} bytes to train on one rank"
)
for name, parameter in model.named_parameters():
    if name.startswith(("embedding", "blocks.0", "norm", "head")):
        print(f"{name:38} {tuple(parameter.shape)}")

# %% [markdown]
# ## Step 1 · Who holds which rows · 6 points
#
# FSDP2 cuts every parameter along dim 0, into rows, the way `torch.chunk` does: each rank gets `ceil(num_rows / world_size)`
# rows until there are none left. What is left for the last ranks may be less, or nothing.
#
# *Predict:* 5 rows on 4 ranks. How many does rank 3 hold?


# %% nbgrader={"grade": false, "grade_id": "rows_of_rank", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rows_of_rank(num_rows: int, rank: int, world_size: int) -> tuple[int, int]:
    """Return (first, stop): this rank holds the rows first, …, stop - 1; none if first >= stop."""
    ### BEGIN SOLUTION
    share = (num_rows + world_size - 1) // world_size
    return min(rank * share, num_rows), min((rank + 1) * share, num_rows)
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_rows_of_rank", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
fsdp01.check_rows_of_rank(rows_of_rank)

# %% [markdown]
# The picture is drawn by your function. Hatched rows are padding: a gather moves equally long shards, so the short ones are
# filled up, and the filling is sent along.

# %% tags=["raises-exception"]
fsdp01.draw_rows(rows_of_rank, num_rows=5, world_size=4)

# %% [markdown]
# ## Step 2 · Shard the model · 16 points
#
# `fully_shard(module, mesh=mesh)` makes a module a *unit*: all of its parameters that belong to no unit yet are replaced by
# sharded ones (`DTensor`), which are gathered in one `all_gather` when the module's forward starts. The mesh says which
# ranks share the work.
#
# What is one unit is up to you, and it matters. The whole model as one unit is gathered in one go: then every rank holds
# everything, as it did without FSDP, only later. One unit per block means that one block is whole at a time (on GPUs the next
# one is then already on its way). So work from the inside out: first each block, then the model, which takes what is left.
#
# *Predict:* with 3 blocks, how many all-gathers does a forward make? And a backward?


# %% nbgrader={"grade": false, "grade_id": "shard_model", "locked": false, "schema_version": 3, "solution": true, "task": false}
def shard_model(model, mesh):
    """Shard `model` in place over `mesh`: each block a unit, what is left the root's; return it."""
    ### BEGIN SOLUTION
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_shard_model", "locked": true, "points": 16, "schema_version": 3, "solution": false, "task": false}
fsdp01.check_shard_model(shard_model)

# %% [markdown]
# Look at it from the inside. `sandbox.launch` runs a function on four fresh ranks and returns what each one returned, and a
# ledger of every collective.


# %% tags=["raises-exception"]
def look_inside():
    mesh = init_device_mesh(sandbox.device().type, (dist.get_world_size(),))
    model = shard_model(toys.Transformer(), mesh)
    tokens = toys.token_samples([dist.get_rank()]).to(sandbox.device())
    toys.next_token_loss(model(tokens), tokens).backward()
    return tuple(model.norm.weight.to_local().shape), tuple(model.head.weight.to_local().shape)


run = sandbox.launch(look_inside, world_size=4)
for rank, (norm, head) in enumerate(run.results):
    print(f"rank {rank}: norm.weight {norm}, head.weight {head}")
for op in ("all_gather", "reduce_scatter"):
    print(f"{op}: {run.ledger.count(op, rank=0)} on rank 0")

# %% [markdown]
# ## Step 3 · Model and optimizer, in the right order · 8 points
#
# `fully_shard` *replaces* the model's parameters. An optimizer that was created before still holds the old, whole ones:
# they get no gradient, so its steps do nothing, and nothing complains. So: create the model, shard it, and only then give its
# parameters to AdamW. The moments are then created like the parameters: sharded.
#
# `config["model"]` holds the keyword arguments of `toys.Transformer`, `config["lr"]` the learning rate.


# %% nbgrader={"grade": false, "grade_id": "build", "locked": false, "schema_version": 3, "solution": true, "task": false}
def build(config, mesh):
    """Return (model, optimizer): the Transformer, sharded over `mesh`, and an AdamW over its shards."""
    ### BEGIN SOLUTION
    model = shard_model(toys.Transformer(**config["model"]), mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])
    return model, optimizer
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_build", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
fsdp01.check_build(build)

# %% [markdown]
# ## Step 4 · Every rank its own samples · 10 points
#
# If all ranks train on the same samples, they all compute the same gradient, and N ranks do the work of one. So each epoch
# is shuffled, the same way on every rank, and cut into one slice per rank. All slices together are the epoch, each sample
# once. The next epoch is shuffled anew; `set_epoch` of torch's `DistributedSampler` is there for exactly this.
#
# The shuffle must come out alike on every rank, and again after a restart: draw it from a `torch.Generator` whose seed
# follows from `seed` and `epoch`, not from the global random state.
#
# *Predict:* what goes wrong if every rank shuffles with a seed of its own and takes its slice of that?


# %% nbgrader={"grade": false, "grade_id": "sample_ids", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sample_ids(num_samples, epoch, seed, rank, world_size):
    """Return this rank's sample ids of this epoch, in the order of training: a list of ints.

    All ranks' lists together hold each of 0, …, num_samples - 1 once; they are equally long, since
    num_samples is a multiple of world_size.
    """
    ### BEGIN SOLUTION
    generator = torch.Generator().manual_seed(1_000 * seed + epoch)
    order = torch.randperm(num_samples, generator=generator).tolist()
    return order[rank::world_size]
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_sample_ids", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
fsdp01.check_sample_ids(sample_ids)

# %% [markdown]
# `toys.token_samples` makes the samples of these ids; one step takes `global_batch_size` of them over all ranks. This is all
# the data loading that a toy needs:


# %% nbgrader={"grade": false, "grade_id": "batches", "locked": true, "schema_version": 3, "solution": false, "task": false}
def batches(config, epoch, rank, world_size):
    """Yield this rank's part of each global batch of one epoch, on the rank's device."""
    ids = sample_ids(config["num_samples"], epoch, config["seed"], rank, world_size)
    share = config["global_batch_size"] // world_size
    for first in range(0, len(ids), share):
        tokens = toys.token_samples(
            ids[first : first + share],
            seq_len=config["seq_len"],
            vocab_size=config["model"]["vocab_size"],
        )
        yield tokens.to(sandbox.device())


# %% [markdown]
# ## Step 5 · One training step · 16 points
#
# Each rank has its own samples, and yet the step must be the one that a single process would take on the whole batch.
# Three numbers decide that:
#
# - **Gradients** are averaged by FSDP2 in backward. You do nothing, and above all you do not do it a second time.
# - **The norm** for clipping is that of the *whole* gradient. A rank holds a part of it. `torch.nn.utils.clip_grad_norm_`
#   knows what to do when it gets the sharded gradients (DTensors) as they are; it returns the norm before clipping.
# - **The loss** that you return is the mean over all ranks, so that every rank can report it. It needs an `all_reduce`
#   of its own, on a detached copy.
#
# Call `model(tokens)`, not `model.forward(tokens)`: the gathers hang on hooks, which only the call runs.
#
# *Predict:* gradients added up instead of averaged are N times too large. Would you see that in the training curve, with
# AdamW and clipping?


# %% nbgrader={"grade": false, "grade_id": "train_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_step(model, optimizer, tokens, max_norm):
    """Take one step on this rank's tokens; return (loss, grad_norm) of the whole batch, as floats.

    The gradient is clipped to `max_norm`; grad_norm is its norm before that. Collective: every rank
    of the model's mesh must call this.
    """
    ### BEGIN SOLUTION
    loss = toys.next_token_loss(model(tokens), tokens)
    loss.backward()
    grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    optimizer.zero_grad()
    mean_loss = loss.detach().clone()
    dist.all_reduce(mean_loss, op=dist.ReduceOp.AVG)
    return mean_loss.item(), grad_norm.item()
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_train_step", "locked": true, "points": 16, "schema_version": 3, "solution": false, "task": false}
fsdp01.check_train_step(train_step)

# %% [markdown]
# The answer to the last question is no: AdamW divides the gradient by its own size, and clipping scales it to the same
# length, so a wrong factor all but cancels. That is why the check compares in float64, and before clipping.
#
# ## Step 6 · A checkpoint to go on from · 12 points
#
# To go on as if nothing had happened takes three things: the weights, the optimizer's moments, and where the data stopped.
# Without the moments AdamW starts cold, and its next steps are not those that it would have taken.
#
# `get_state_dict(model, optimizer)` returns both states, weights and moments as DTensors, and `dcp.save(state, checkpoint_id=directory)`
# lets every rank write its own rows, with a record of where they belong. `dcp.load` fills a state of the same form in place,
# from any number of ranks, and `set_state_dict` puts it back. All of these are collective: every rank calls them.
#
# *Predict:* what hangs, and where, if only rank 0 calls `get_state_dict` and `dcp.save`?


# %% nbgrader={"grade": false, "grade_id": "checkpoint", "locked": false, "schema_version": 3, "solution": true, "task": false}
def save_checkpoint(directory, model, optimizer, next_epoch):
    """Write to `directory` what it takes to go on with epoch `next_epoch`. Collective: all ranks."""
    ### BEGIN SOLUTION
    model_state, optimizer_state = get_state_dict(model, optimizer)
    state = {"model": model_state, "optimizer": optimizer_state, "next_epoch": next_epoch}
    dcp.save(state, checkpoint_id=directory)
    ### END SOLUTION


def load_checkpoint(directory, model, optimizer):
    """Restore model and optimizer from `directory`; return next_epoch. Collective: all ranks."""
    ### BEGIN SOLUTION
    model_state, optimizer_state = get_state_dict(model, optimizer)
    state = {"model": model_state, "optimizer": optimizer_state, "next_epoch": 0}
    dcp.load(state, checkpoint_id=directory)
    set_state_dict(
        model,
        optimizer,
        model_state_dict=state["model"],
        optim_state_dict=state["optimizer"],
    )
    return state["next_epoch"]
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_checkpoint", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
fsdp01.check_checkpoint(save_checkpoint, load_checkpoint)

# %% [markdown]
# ## Step 7 · The loop that Ray Train runs on every worker · 14 points
#
# Ray Train starts the workers, makes their process group, and calls your loop on each of them. What it asks of the loop:
#
# - `train.get_checkpoint()` returns the checkpoint to resume from, or None. `checkpoint.as_directory()` is a context that gives
#   its directory.
# - `train.report(metrics, checkpoint=...)` hands over metrics and a checkpoint. It is a barrier: **every rank calls it, equally
#   often**, or the others wait for ever. Each rank saves into a temporary directory of its own and passes
#   `Checkpoint.from_directory(directory)`; Ray puts the ranks' files together in one place.
#
# `config` holds what the functions above need, and `num_epochs`. Save and report once after each epoch, with `"epoch"`, and
# with `"loss"` and `"grad_norm"` of the epoch's last step. (The first import of Ray takes some seconds.)

# %% nbgrader={"grade": false, "grade_id": "ray_imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
from ray import train
from ray.train import Checkpoint, RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer


# %% nbgrader={"grade": false, "grade_id": "train_loop", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_loop_per_worker(config):
    """Train from the checkpoint, if there is one, to the end of epoch num_epochs - 1.

    After each epoch every rank saves, and reports "epoch", "loss" and "grad_norm" with the checkpoint.
    """
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh(sandbox.device().type, (world_size,))
    ### BEGIN SOLUTION
    model, optimizer = build(config, mesh)
    first_epoch = 0
    if checkpoint := train.get_checkpoint():
        with checkpoint.as_directory() as directory:
            first_epoch = load_checkpoint(directory, model, optimizer)
    for epoch in range(first_epoch, config["num_epochs"]):
        for tokens in batches(config, epoch, rank, world_size):
            loss, grad_norm = train_step(model, optimizer, tokens, config["max_norm"])
        metrics = {"epoch": epoch, "loss": loss, "grad_norm": grad_norm}
        with tempfile.TemporaryDirectory() as directory:
            save_checkpoint(directory, model, optimizer, epoch + 1)
            train.report(metrics, checkpoint=Checkpoint.from_directory(directory))
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_train_loop", "locked": true, "points": 14, "schema_version": 3, "solution": false, "task": false}
fsdp01.check_train_loop(train_loop_per_worker)

# %% [markdown]
# ## Step 8 · The trainer · 8 points
#
# `TorchTrainer` ties it together: the loop, its config, and three objects that say how to run it.
#
# - `ScalingConfig` says on how many workers, and whether each has a GPU (here: `use_gpu=False`).
# - `TorchConfig` says how they talk: `backend="gloo"` between CPUs.
# - `RunConfig` says where checkpoints go: `storage_path`. On a cluster this is a place that every machine can reach.

# %% nbgrader={"grade": false, "grade_id": "config", "locked": true, "schema_version": 3, "solution": false, "task": false}
CONFIG = {
    "model": {"vocab_size": 61, "num_blocks": 3},
    "lr": 1e-2,
    "max_norm": 1.0,
    "num_samples": 48,
    "seq_len": 12,
    "global_batch_size": 12,
    "num_epochs": 2,
    "seed": 0,
}


# %% nbgrader={"grade": false, "grade_id": "make_trainer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def make_trainer(num_workers, storage_path):
    """Return a TorchTrainer: train_loop_per_worker with CONFIG, on CPU workers that talk over gloo."""
    ### BEGIN SOLUTION
    return TorchTrainer(
        train_loop_per_worker,
        train_loop_config=CONFIG,
        scaling_config=ScalingConfig(num_workers=num_workers, use_gpu=False),
        torch_config=TorchConfig(backend="gloo"),
        run_config=RunConfig(storage_path=storage_path),
    )
    ### END SOLUTION


# %% [markdown]
# The check makes your trainer, looks at its settings, and runs its loop on four warm ranks, through Ray Train's own local
# mode: with CONFIG it must train as one process does. That takes seconds, where starting Ray takes half a minute.

# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_make_trainer", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
fsdp01.check_make_trainer(make_trainer)

# %% [markdown]
# Now the real thing, for no points: `trainer.fit()` on a Ray of its own with two workers, in a process beside this kernel that ends
# with it. It takes half a minute, on a busy machine two, nearly all of it to start Ray and to import torch in each worker.

# %% tags=["raises-exception"]
fsdp01.fit_on_ray(make_trainer, num_workers=2)

# %% [markdown]
# ## Step 9 · What a gather moves · 4 points
#
# An all-gather needs equally long shards. FSDP2 pads each parameter by itself: its rows are rounded up to a multiple of
# `world_size`. A (5, 24) parameter on 4 ranks is gathered as (8, 24). (FSDP1 lays all parameters of a unit end to end and
# pads that once: fewer bytes, but rows are torn apart.)


# %% nbgrader={"grade": false, "grade_id": "padded_numel", "locked": false, "schema_version": 3, "solution": true, "task": false}
def padded_numel(shape, world_size):
    """Return how many elements a gather of a parameter of this shape moves, padding included."""
    ### BEGIN SOLUTION
    num_rows, *row_shape = shape
    padded_rows = (num_rows + world_size - 1) // world_size * world_size
    return padded_rows * torch.Size(row_shape).numel()
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_padded_numel", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
fsdp01.check_padded_numel(padded_numel)

# %% [markdown]
# ## Step 10 · Predict the bytes, then measure them · 6 points
#
# In a ring, an all-gather of S bytes (padded, all shards together) makes every rank send (N - 1) / N · S: each shard travels on
# to everyone but its owner. A reduce-scatter of S bytes sends the same amount. An all-reduce is one after the other: twice that.
#
# One training step, by strategy:
#
# - **FULL_SHARD**: a block's weights are gathered for forward, freed, gathered again for backward; its gradients are
#   reduce-scattered. The root is needed last in forward and first in backward, so FSDP2 does not free it in between.
# - **SHARD_GRAD_OP**: nothing is freed between forward and backward.
# - **DDP**: nothing is sharded. The gradients are all-reduced, unpadded.
#
# Write it down as a function of the shapes. What the loss and the norm send is left out: a few bytes.


# %% nbgrader={"grade": false, "grade_id": "predict_sent_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_sent_bytes(root_shapes, block_shapes, world_size, itemsize):
    """Return {"FULL_SHARD": …, "SHARD_GRAD_OP": …, "DDP": …}: bytes that a rank sends in one step.

    `root_shapes` lists the shapes of the root's parameters, `block_shapes` one such list per block;
    an element has `itemsize` bytes.
    """
    ### BEGIN SOLUTION
    all_block_shapes = [shape for shapes in block_shapes for shape in shapes]
    root = sum(padded_numel(shape, world_size) for shape in root_shapes)
    blocks = sum(padded_numel(shape, world_size) for shape in all_block_shapes)
    whole = sum(torch.Size(shape).numel() for shape in [*root_shapes, *all_block_shapes])
    ring = (world_size - 1) / world_size * itemsize
    return {
        "FULL_SHARD": (2 * root + 3 * blocks) * ring,
        "SHARD_GRAD_OP": (2 * root + 2 * blocks) * ring,
        "DDP": 2 * whole * ring,
    }
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_predict_sent_bytes", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
fsdp01.check_predict_sent_bytes(predict_sent_bytes)

# %% [markdown]
# The three strategies, running, on 4 ranks. In FSDP2 a strategy is one argument of `fully_shard`, `reshard_after_forward`; what
# `shard_model` made without it is FULL_SHARD, and `set_reshard_after_forward` changes it for all units. *Predict:* which of the
# three sends least, and what does it pay for that?

# %% tags=["raises-exception"]
from torch.nn.parallel import DistributedDataParallel


def shard_grad_op(model, mesh):
    model = shard_model(model, mesh)
    model.set_reshard_after_forward(False)
    return model


fsdp01.measure(
    {
        "FULL_SHARD": shard_model,
        "SHARD_GRAD_OP": shard_grad_op,
        "DDP": lambda model, mesh: DistributedDataParallel(model),
    }
)

# %% [markdown]
# You will meet the same ideas in older words. FSDP1 wraps modules in `FullyShardedDataParallel`; the strategy is an enum, the units
# are chosen by a policy, and when to start the next gather in backward is a setting (`BACKWARD_PRE`: before this unit's gradients are
# computed; FSDP2 does so by default).
#
# | FSDP1 | FSDP2 |
# |---|---|
# | `ShardingStrategy.FULL_SHARD` | `reshard_after_forward=True` (the default; not for the root) |
# | `ShardingStrategy.SHARD_GRAD_OP` | `reshard_after_forward=False` |
# | `ShardingStrategy.NO_SHARD` | no FSDP: use DDP |
# | `ShardingStrategy.HYBRID_SHARD` | a mesh with two axes |
# | `auto_wrap_policy=transformer_auto_wrap_policy` | `fully_shard(block)` for each block |
# | `backward_prefetch=BackwardPrefetch.BACKWARD_PRE` | built in |
# | one `flat_param` per unit | one `DTensor` per parameter |

# %%
from torch.distributed.fsdp import BackwardPrefetch, FullyShardedDataParallel, ShardingStrategy
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy


def wrap_fsdp1(model, mesh, strategy):
    return FullyShardedDataParallel(
        model,
        sharding_strategy=strategy,
        auto_wrap_policy=functools.partial(
            transformer_auto_wrap_policy, transformer_layer_cls={toys.Block}
        ),
        backward_prefetch=BackwardPrefetch.BACKWARD_PRE,
        device_id=sandbox.device(),
    )


fsdp01.measure(
    {
        "FSDP1 FULL_SHARD": functools.partial(wrap_fsdp1, strategy=ShardingStrategy.FULL_SHARD),
        "FSDP1 SHARD_GRAD_OP": functools.partial(
            wrap_fsdp1, strategy=ShardingStrategy.SHARD_GRAD_OP
        ),
    }
)

# %% [markdown]
# ## Bonus · HYBRID_SHARD
#
# It is checked like the rest but counts no points; an instructor may give extra credit for it. Hints are at `fsdp01.hint(11)`.
#
# Inside a machine ranks talk fast, between machines slowly. Hybrid sharding keeps the gathers inside: the model is sharded
# over the ranks of one machine and *replicated* from machine to machine. What crosses between them is one all-reduce of the
# sharded gradients, 1 / num_shards of them per rank.
#
# `fully_shard` does this when the mesh has two axes: it replicates over the first and shards over the second, and wants
# both to have names (`mesh_dim_names`). Ranks are numbered row by row, so the ranks of one machine belong in one row.
#
# *Predict:* which ranks share a shard axis in a 2 × 2 mesh?


# %% nbgrader={"grade": false, "grade_id": "shard_hybrid", "locked": false, "schema_version": 3, "solution": true, "task": false}
def shard_hybrid(model, num_replicas, num_shards):
    """Shard `model` in place over groups of `num_shards` ranks, `num_replicas` of them; return it."""
    ### BEGIN SOLUTION
    mesh = init_device_mesh(
        sandbox.device().type,
        (num_replicas, num_shards),
        mesh_dim_names=("replicate", "shard"),
    )
    return shard_model(model, mesh)
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_bonus_shard_hybrid", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
fsdp01.check_shard_hybrid(shard_hybrid)
