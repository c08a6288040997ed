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
# # fsdp04 · Checkpoints that survive kills, torn files and resizes
#
# **Why.** A run on thousands of GPUs is interrupted every few hours: a machine dies, a spot instance is taken away, a job is
# preempted. What is lost then is what no checkpoint holds. And the machine that died may not come back soon: whoever must
# wait for it pays for all the others.
#
# **How.** Every rank writes its own shards, and beside them stands where each belongs, so that any number of ranks can load
# them. A checkpoint is *complete or absent*: it is written beside its place and moved there in one go, with a record of every
# file's size and hash. And whatever is random, the order of the data and the noise, is a function of the step and the
# sample, never of the rank.
#
# **The price** is time in which nothing is trained, and disk. At the end you measure both, and hide most of the first.
#
# You build this in ten steps, on real ranks: processes that talk over gloo on this machine, and that the checks kill. A check
# that fails says which mistake it is, and what to do next; `fsdp04.hint(3)` gives a hint for step 3, and more when you ask
# again.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# %load_ext sandbox

import hashlib
import json
import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_state_dict,
    set_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.optim.lr_scheduler import LambdaLR

import sandbox
from grader import fsdp04
from sandbox import toys

# %% [markdown]
# The whole run is described by a config, and all of its state is in one object: model, optimizer, learning rate schedule, and
# `step`, the number of optimizer steps taken so far. 96 samples in batches of 12 are 8 steps an epoch; the run makes two epochs.

# %% nbgrader={"grade": false, "grade_id": "state", "locked": true, "schema_version": 3, "solution": false, "task": false}
CONFIG = {
    "model": {"vocab_size": 62, "num_blocks": 2},
    "lr": 1e-2,
    "warmup_steps": 6,
    "num_samples": 96,
    "seq_len": 12,
    "global_batch_size": 12,
    "mask_rate": 1 / 8,
    "mask_token": 61,
    "num_steps": 16,
    "save_every": 3,
    "num_kept": 2,
    "seed": 0,
}


@dataclass
class TrainState:
    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    scheduler: LambdaLR
    step: int


def new_state(config, mesh):
    """Return the state before the first step: the model sharded over `mesh`, AdamW, a warmup."""
    model = toys.Transformer(**config["model"])
    for module in [*model.blocks, model]:
        fully_shard(module, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])
    warmup_steps = config["warmup_steps"]
    scheduler = LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / warmup_steps))
    return TrainState(model, optimizer, scheduler, step=0)


# %% [markdown]
# ## Step 1 · Which samples a step trains on · 8 points
#
# A run that is resumed must know where the data stopped. A position in a list of the rank's own will not do: with 3 ranks
# instead of 4, each rank has another list. So the position is *computed*, from the one number that every checkpoint holds:
# the step.
#
# The epoch is one permutation, drawn from `seed` and the epoch. Step after step takes the next `global_batch_size` ids of it,
# and only then is the batch divided among the ranks. So a step trains on the same ids whoever trains it, and every id of
# the epoch comes exactly once, whatever happens to the number of ranks on the way.
#
# (The global batch stays 12, on any number of ranks that divides it. So gradients and learning rate stay what they were.)
#
# *Predict:* the other way round, each rank first takes its quarter of the epoch, 24 ids in a row, and walks through it. 4 ranks
# make two steps, then 3 ranks go on with step 2, each in its third. How many of the 96 ids are trained on twice?


# %% nbgrader={"grade": false, "grade_id": "sample_ids", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sample_ids(step, rank, world_size, config):
    """Return the ids that this rank trains on in this step (0, 1, …, over all epochs), as ints.

    All ranks' ids together are the step's global batch: the same for every world_size that divides
    config["global_batch_size"]. num_samples is a multiple of it.
    """
    ### BEGIN SOLUTION
    batch_size = config["global_batch_size"]
    epoch, place = divmod(step, config["num_samples"] // batch_size)
    generator = torch.Generator().manual_seed(1_000 * config["seed"] + epoch)
    order = torch.randperm(config["num_samples"], generator=generator).tolist()
    batch = order[place * batch_size : (place + 1) * batch_size]
    return batch[rank::world_size]
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_sample_ids", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
fsdp04.check_sample_ids(sample_ids)

# %% tags=["raises-exception"]
for world_size in (4, 3, 1):
    print(*(sample_ids(2, rank, world_size, CONFIG) for rank in range(world_size)))

# %% [markdown]
# The same twelve ids, whoever they are divided among.
#
# ## Step 2 · Noise that does not know who draws it · 6 points
#
# Training is full of randomness: augmentation, masking, dropout. If it is drawn from the rank's global random state, it depends
# on everything that was drawn before it on this rank. That state can be saved and restored for as many ranks as there were. For
# another number it cannot: there is no state for the fifth rank of four.
#
# So derive it: a generator seeded from (seed, step, sample id) gives each sample its own noise in each step, on whatever rank
# it is computed, in whatever company.
#
# `mask_tokens` replaces about one token in eight by `mask_token`; the model is to predict the next one all the same.
#
# *Predict:* seeding with `seed + step + id` looks right. Which two rows get the same mask?


# %% nbgrader={"grade": false, "grade_id": "mask_tokens", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mask_tokens(tokens, ids, step, config):
    """Return a copy of `tokens` (len(ids), seq_len) in which each is masked with probability mask_rate.

    Row i belongs to sample ids[i]. Its mask is a function of config["seed"], step and ids[i] alone;
    masked tokens become config["mask_token"].
    """
    ### BEGIN SOLUTION
    masked = tokens.clone()
    for row, sample_id in zip(masked, ids, strict=True):
        number = (config["seed"] * 1_000_003 + step) * config["num_samples"] + sample_id
        generator = torch.Generator().manual_seed(number)
        is_masked = torch.rand(len(row), generator=generator) < config["mask_rate"]
        row[is_masked] = config["mask_token"]
    return masked
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_mask_tokens", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
fsdp04.check_mask_tokens(mask_tokens)

# %% [markdown]
# With these two, a training step needs nothing but the state and the ids:


# %% nbgrader={"grade": false, "grade_id": "train_step", "locked": true, "schema_version": 3, "solution": false, "task": false}
def train_step(state, ids, config):
    """Take one step on this rank's samples. Collective: every rank of the model's mesh calls it."""
    tokens = toys.token_samples(ids, seq_len=config["seq_len"])
    inputs = mask_tokens(tokens, ids, state.step, config)
    logits = state.model(inputs.to(sandbox.device()))
    toys.next_token_loss(logits, tokens.to(sandbox.device())).backward()
    state.optimizer.step()
    state.scheduler.step()
    state.optimizer.zero_grad()
    state.step += 1


# %% [markdown]
# ## Step 3 · Every rank saves its shards · 14 points
#
# The obvious way is to collect the whole state on rank 0 and to write one file. `get_state_dict` can do that
# (`full_state_dict=True`; `cpu_offload=True` keeps it on rank 0 alone). Weights and both moments are 12 bytes a weight, in one
# place: 84 GB for seven billion weights, on a rank that was to hold a share. Measured here, on 4 ranks:


# %%
def collect_full(only_rank_0=False):
    mesh = init_device_mesh(sandbox.device().type, (dist.get_world_size(),))
    state = new_state(CONFIG, mesh)
    if only_rank_0 and dist.get_rank() != 0:
        return
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    get_state_dict(state.model, state.optimizer, options=options)


run = sandbox.launch(collect_full, world_size=4, memory=True)
for rank in (0, 3):
    print(f"rank {rank}: {run.memory.describe_peak(rank)}")

# %% [markdown]
# Rank 0 holds the whole state in buffers. (The peak of rank 3 is older: a model is whole for a moment when it is created.) And
# it is a gather. `if rank == 0: get_state_dict(...)` looks like a saving, and waits for ever for the ranks that do not come:

# %%
try:
    sandbox.launch(collect_full, True, world_size=2)
except sandbox.DeadlockError as error:
    print(error)

# %% [markdown]
# So every rank saves what it holds. `get_state_dict(model, optimizer)` gives weights and moments as DTensors. `dcp.save` lets
# every rank write its own part of them, and rank 0 `.metadata`: where each part belongs. `dcp.load` fills a state of the same
# form in place, on any number of ranks: each reads the rows that it needs. All of these are collective.
#
# What else must come back: the scheduler (`state_dict()`, `load_state_dict()`), `step`, and each rank's random state
# (`torch.get_rng_state()`), which dropout would draw from. That one belongs to a rank of a world of this size: restore it
# only if as many ranks load as saved. If not, leave the ranks' random states as they are, each its own.
#
# `dcp.save` takes what is not sharded for the same on every rank, and stores it *once per key*.
# `DefaultLoadPlanner(allow_partial_load=True)` leaves as it is what the checkpoint has no entry for (a weight that is missing too,
# and without a word: whoever renames layers should know).
#
# *Predict:* the learning rate is in the optimizer's `param_groups`, which are saved. What goes wrong without the scheduler's
# state, and in which step after loading?


# %% nbgrader={"grade": false, "grade_id": "shards", "locked": false, "schema_version": 3, "solution": true, "task": false}
def collect(state):
    """Return all that a checkpoint of `state` holds, for dcp. Collective: all ranks."""
    ### BEGIN SOLUTION
    model_state, optimizer_state = get_state_dict(state.model, state.optimizer)
    rank_of_world = f"{dist.get_rank()} of {dist.get_world_size()}"
    return {
        "model": model_state,
        "optimizer": optimizer_state,
        "scheduler": state.scheduler.state_dict(),
        "step": state.step,
        "rng": {rank_of_world: torch.get_rng_state()},
    }
    ### END SOLUTION


def save_shards(directory, state):
    """Write `state` to `directory`, each rank its shards, and its random state. Collective: all ranks."""
    ### BEGIN SOLUTION
    dcp.save(collect(state), checkpoint_id=directory)
    ### END SOLUTION


def load_shards(directory, state):
    """Restore `state` in place from `directory`, on any number of ranks. Collective: all ranks.

    The ranks' random states are restored if as many ranks saved.
    """
    ### BEGIN SOLUTION
    loaded = collect(state)
    planner = DefaultLoadPlanner(allow_partial_load=True)
    dcp.load(loaded, checkpoint_id=directory, planner=planner)
    set_state_dict(
        state.model,
        state.optimizer,
        model_state_dict=loaded["model"],
        optim_state_dict=loaded["optimizer"],
    )
    state.scheduler.load_state_dict(loaded["scheduler"])
    state.step = loaded["step"]
    for rng_state in loaded["rng"].values():
        torch.set_rng_state(rng_state)
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_shards", "locked": true, "points": 14, "schema_version": 3, "solution": false, "task": false}
fsdp04.check_shards(save_shards, load_shards)

# %% [markdown]
# Four ranks save, three load. Look at the rows of one weight, before and after, and at the files: four of shards, one that says
# where each belongs.


# %% tags=["raises-exception"]
def save_or_load(directory):
    mesh = init_device_mesh(sandbox.device().type, (dist.get_world_size(),))
    state = new_state(CONFIG, mesh)
    if dist.get_world_size() == 4:
        save_shards(directory, state)
    else:
        load_shards(directory, state)
    return sandbox.show_sharding(state.model.head.weight)


with tempfile.TemporaryDirectory() as directory:
    for world_size in (4, 3):
        display(sandbox.launch(save_or_load, directory, world_size=world_size).results[0])
    for path in sorted(Path(directory).iterdir()):
        print(f"{path.name:14} {path.stat().st_size:>8,} bytes")

# %% [markdown]
# ## Step 4 · A record of every file · 10 points
#
# Which of these files are as they were written? A rank may have died in the middle of one. A machine that lost its power may
# have kept the name of a file and half of its content. A disk may return a wrong bit. `dcp.load` would tell you some of that.
# Flip one byte, sixty times, and see:

# %% tags=["raises-exception"]
fsdp04.count_silent_flips(save_shards, load_shards)

# %% [markdown]
# Training would go on, from something else. So a *record* is written with the checkpoint: for every file its size and the
# SHA-256 of its content. A directory is complete if it has a record and all files are there, as recorded, no fewer and no more.
#
# - All files count: those in folders below, and hidden ones, for `.metadata` is one.
# - The directory will be renamed after the record is written: record paths relative to it.
# - The record itself may be torn. Whatever it holds, `is_complete` says False rather than raise.
#
# *Predict:* a record lists files line by line, and `is_complete` checks what is listed. Its end is lost in a crash. What does
# `is_complete` say of a file whose line is gone?


# %% nbgrader={"grade": false, "grade_id": "record", "locked": false, "schema_version": 3, "solution": true, "task": false}
def describe_files(directory):
    """Return {path relative to `directory`: [size, SHA-256]} of all files below it but the record."""
    ### BEGIN SOLUTION
    return {
        str(path.relative_to(directory)): [
            path.stat().st_size,
            hashlib.sha256(path.read_bytes()).hexdigest(),
        ]
        for path in sorted(Path(directory).rglob("*"))
        if path.is_file() and path.name != "record.json"
    }
    ### END SOLUTION


def write_record(directory):
    """Write into `directory` a record of all files below it, hidden ones too: size and SHA-256."""
    ### BEGIN SOLUTION
    Path(directory, "record.json").write_text(json.dumps(describe_files(directory)))
    ### END SOLUTION


def is_complete(directory):
    """Whether `directory` is there, with a record, and with every file in it as recorded.

    Never raises because of what the directory holds.
    """
    ### BEGIN SOLUTION
    try:
        record = json.loads(Path(directory, "record.json").read_text())
    except (OSError, ValueError):
        return False
    return record == describe_files(directory)
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_record", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
fsdp04.check_record(write_record, is_complete)

# %% [markdown]
# ## Step 5 · Complete or absent · 16 points
#
# A save takes many changes of files, and a rank may die between any two of them, or in the middle of a write. *Atomic* means:
# whenever that is, what is found afterwards is the new checkpoint, whole, or the one before it, untouched. No file system
# writes a directory of files in one go. But it renames one in one go. So:
#
# 1. Write into a directory under another name, at which `latest_complete` does not look. What an earlier crash left there
#    goes first.
# 2. When all ranks have written, rank 0 writes the record.
# 3. Rank 0 renames the directory: that is the *commit*. Before it there is nothing, after it there is everything.
#
# Ranks are processes that run at their own pace. Where one relies on what another has done, there must be a barrier between
# the two.
#
# `latest_complete` looks for the newest by step, and believes no name: what the record does not confirm is passed over for the one
# before it. If a torn directory has the name that the new checkpoint needs, it must go: `os.rename` does not replace a
# directory with files in it.
#
# (A power cut can undo what was not flushed to the disk yet: `os.fsync` on the files, and on the directory, before and after
# the rename. `dcp.save` flushes its own files. On object stores there is no rename; there, the record written last is the commit.)
#
# The check kills a rank at twenty points of your save: before, in the middle of and after files, around the commit. It fills the disk, tears
# files after the commit, makes a rank slow. Each time the run must go on from what `latest_complete` returns, and save again
# amid the debris. It takes some ten seconds.
#
# *Predict:* a rank is killed just before the rename. What is in `root`, and what does `latest_complete` return?


# %% nbgrader={"grade": false, "grade_id": "checkpoint", "locked": false, "schema_version": 3, "solution": true, "task": false}
def save_checkpoint(root, state):
    """Save `state` as a checkpoint below `root`: complete, or absent. Collective: all ranks."""
    ### BEGIN SOLUTION
    final = Path(root, f"step-{state.step:06}")
    writing = Path(root, f"writing-{state.step:06}")
    if dist.get_rank() == 0:
        shutil.rmtree(writing, ignore_errors=True)
    dist.barrier()
    save_shards(writing, state)
    dist.barrier()
    if dist.get_rank() == 0 and not is_complete(final):
        write_record(writing)
        shutil.rmtree(final, ignore_errors=True)
        os.rename(writing, final)
    dist.barrier()
    ### END SOLUTION


def latest_complete(root):
    """Return the path of the newest complete checkpoint below `root`, or None if there is none.

    Any process may call this; `root` may not exist yet. Changes nothing.
    """
    ### BEGIN SOLUTION
    for directory in sorted(Path(root).glob("step-*"), reverse=True):
        if is_complete(directory):
            return directory
    return None
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_checkpoint", "locked": true, "points": 16, "schema_version": 3, "solution": false, "task": false}
fsdp04.check_checkpoint(save_checkpoint, latest_complete, load_shards)

# %% [markdown]
# See it for yourself: rank 1 is killed in the middle of its second save. (`sandbox.FileChange(50)` would be its 50th change of
# files, and so on: these are the points that the check goes through.)


# %% tags=["raises-exception"]
def save_twice(root):
    mesh = init_device_mesh(sandbox.device().type, (dist.get_world_size(),))
    state = new_state(CONFIG, mesh)
    for _ in range(2):
        train_step(state, sample_ids(state.step, dist.get_rank(), 2, CONFIG), CONFIG)
        save_checkpoint(root, state)


with tempfile.TemporaryDirectory() as root:
    kill = sandbox.Kill(rank=1, at=sandbox.Save(2))
    try:
        sandbox.launch(save_twice, root, world_size=2, faults=[kill])
    except sandbox.SandboxError as error:
        print(error)
    print("left behind:", ", ".join(sorted(path.name for path in Path(root).iterdir())))
    print("the newest complete one:", latest_complete(root))

# %% [markdown]
# ## Step 6 · Keep the newest · 6 points
#
# A checkpoint of a large model has terabytes, and one is made every few minutes. So the old ones are removed. The danger is in
# counting: `num_kept` of the *complete* ones are to stay. If torn ones are counted too, the last good one may go.
#
# *Predict:* in which order should a save and the removal of the oldest be done?


# %% nbgrader={"grade": false, "grade_id": "keep_newest", "locked": false, "schema_version": 3, "solution": true, "task": false}
def keep_newest(root, num_kept):
    """Remove all but the `num_kept` (at least 1) newest complete checkpoints below `root`.

    One process calls this, while none saves.
    """
    ### BEGIN SOLUTION
    directories = sorted(Path(root).glob("step-*"), reverse=True)
    complete = [directory for directory in directories if is_complete(directory)]
    for directory in complete[num_kept:]:
        shutil.rmtree(directory)
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_keep_newest", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
fsdp04.check_keep_newest(keep_newest, save_checkpoint, latest_complete)

# %% [markdown]
# ## Step 7 · A loop that any generation can enter · 16 points
#
# An elastic launcher (torchrun, Ray Train, here `sandbox.launch_elastic`) watches the ranks. When one dies, it stops all others, for
# their collectives can never end, and starts a new *generation* of processes, on as many ranks as there are places. What the
# processes knew is gone. So one and the same function must start a run and continue it:
#
# - Build the state, as at the start. If there is a complete checkpoint, load it: all ranks the same one.
# - Train from `state.step` to `num_steps`. Save when it is time, and after the last step; keep `num_kept`.
#
# Everything else follows from steps 1 to 6. What is lost by a crash are the steps since the last save, at most `save_every`; they are
# done again, with the same samples and the same noise, so they come out the same.
#
# *Predict:* 4 ranks, `save_every` 3, and a rank dies in the step after step 7. With which step does the next generation begin?


# %% nbgrader={"grade": false, "grade_id": "train", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train(config, root):
    """Train to step num_steps, from the newest complete checkpoint below `root`, if there is one.

    Saves after every save_every steps and after the last, and keeps num_kept. Collective: all ranks.
    """
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh(sandbox.device().type, (world_size,))
    ### BEGIN SOLUTION
    state = new_state(config, mesh)
    latest = [latest_complete(root) if rank == 0 else None]
    dist.broadcast_object_list(latest)
    if latest[0] is not None:
        load_shards(latest[0], state)
    while state.step < config["num_steps"]:
        train_step(state, sample_ids(state.step, rank, world_size, config), config)
        if state.step % config["save_every"] == 0 or state.step == config["num_steps"]:
            save_checkpoint(root, state)
            if rank == 0:
                keep_newest(root, config["num_kept"])
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_train", "locked": true, "points": 16, "schema_version": 3, "solution": false, "task": false}
fsdp04.check_train(train)

# %% [markdown]
# Now look at a whole run. It starts on 4 ranks, loses one, a rank is killed in the middle of a save, and the lost one comes back.
# *Predict:* how many of the 16 steps are done twice?

# %% tags=["raises-exception"]
fsdp04.draw_losses(
    train,
    CONFIG,
    world_size=(2, 4),
    faults={
        0: [sandbox.Lose(rank=3, at=sandbox.Step(6))],
        1: [sandbox.Kill(rank=0, at=sandbox.Save(2))],
        2: [sandbox.Join(num_ranks=1, at=sandbox.Step(6))],
    },
)

# %% [markdown]
# The last digits of the losses differ: CONFIG trains in fp32, and other numbers of ranks add up in another order. That is why the
# check compares in float64.

# %% [markdown]
# ## Step 8 · Train on while it is written · 10 points
#
# A save makes every rank wait for the disk, the longer the larger the model. But what has to stand still is only the *state*,
# and only until it is copied in memory. The copy can then be written by a thread, while the next steps change the original.
#
# `dcp.async_save(...)` does this: it copies, returns a `Future`, and saves the copy in a thread. Three things are left to you:
#
# - **When it is complete.** The record and the rename come after the writing, on their own: nobody may be there to ask for
#   the result. So a second thread waits for the first, and commits.
# - **The group.** The ranks' threads talk to each other while the ranks train. On one group every rank must issue the same
#   collectives in the same order, and two threads keep no order. So they get a `group` of their own: `process_group=group`.
#   (The same group again and again: `dist.new_group` is itself collective.)
# - **One at a time.** A save that takes longer than it is to the next one would pile up copies. `previous` is the Future that
#   the save before returned: wait for it first. That is also where its error comes out, if the disk was full.
#
# *Predict:* what would the checkpoint hold if the thread wrote the weights themselves, not a copy?


# %% nbgrader={"grade": false, "grade_id": "save_async", "locked": false, "schema_version": 3, "solution": true, "task": false}
def save_async(root, state, group, previous):
    """Begin to save `state` as it is now; return a Future, which is done when it is complete.

    The checkpoint is one of save_checkpoint's kind. The ranks' threads use `group` alone. `previous`
    is the Future of the save before, or None. Collective: all ranks.
    """
    ### BEGIN SOLUTION
    if previous is not None:
        previous.result()
    final, writing = Path(root, f"step-{state.step:06}"), Path(root, f"async-{state.step:06}")
    if dist.get_rank() == 0:
        shutil.rmtree(writing, ignore_errors=True)
    dist.barrier()
    written = dcp.async_save(collect(state), checkpoint_id=writing, process_group=group)

    def commit():
        written.result()
        if dist.get_rank() == 0 and not is_complete(final):
            write_record(writing)
            shutil.rmtree(final, ignore_errors=True)
            os.rename(writing, final)
        dist.barrier(group)

    return ThreadPoolExecutor(1).submit(commit)
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_save_async", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
fsdp04.check_save_async(save_async, latest_complete, load_shards)

# %% [markdown]
# Both ways side by side, on a model that is large enough for a save to take longer than a step. *Predict:* what of the stall is left?

# %% tags=["raises-exception"]
fsdp04.compare_stalls(new_state, save_checkpoint, save_async)

# %% [markdown]
# What is left is collecting the state, the copy, and whatever the thread takes from the steps beside it: both compete for
# Python's lock and, where ranks run on the CPU, for the same processors.

# %% [markdown]
# ## Step 9 · The loop under Ray Train · 10 points
#
# Ray Train does for a cluster what `launch_elastic` does here: it starts the workers, notices when one dies, and starts the
# loop again on as many as there is room for. Its part of checkpointing is the commit. `ray.train.report(metrics, checkpoint=…)`
# takes each rank's files; the checkpoint counts when every rank's have arrived. `ray.train.get_checkpoint()` gives the newest
# that counts, or None, and `checkpoint.as_directory()` is a context that gives its directory.
#
# What must be in it, and what follows from the step, is your part, and done: `save_shards`, `load_shards`, `sample_ids`,
# `mask_tokens`. So this is `train` once more, with Ray in the place of `save_checkpoint` and `latest_complete`.
#
# `report` waits for all ranks: every rank calls it, equally often, each with a `Checkpoint.from_directory(...)` of a temporary
# directory of its own. (The first import of Ray takes some seconds.)

# %% nbgrader={"grade": false, "grade_id": "ray_imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import ray.train
from ray.train import Checkpoint, CheckpointConfig, FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer


# %% nbgrader={"grade": false, "grade_id": "train_loop", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_loop_per_worker(config):
    """Train to step num_steps, from Ray's newest checkpoint, if there is one.

    After every save_every steps and after the last, every rank saves its shards, and reports
    {"step": state.step} with its checkpoint.
    """
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh(sandbox.device().type, (world_size,))
    ### BEGIN SOLUTION
    state = new_state(config, mesh)
    if checkpoint := ray.train.get_checkpoint():
        with checkpoint.as_directory() as directory:
            load_shards(directory, state)
    while state.step < config["num_steps"]:
        train_step(state, sample_ids(state.step, rank, world_size, config), config)
        if state.step % config["save_every"] == 0 or state.step == config["num_steps"]:
            with tempfile.TemporaryDirectory() as directory:
                save_shards(directory, state)
                reported = Checkpoint.from_directory(directory)
                ray.train.report({"step": state.step}, checkpoint=reported)
    ### END SOLUTION


# %% [markdown]
# The check runs your loop on warm ranks, with Ray Train's functions as in a real run, and takes a rank away from it.

# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_train_loop", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
fsdp04.check_train_loop(train_loop_per_worker)

# %% [markdown]
# ## Step 10 · A trainer that is elastic · 4 points
#
# - `ScalingConfig(num_workers=(2, 4))` takes any number of workers in that range: as many as there is room for, when it starts
#   and after each failure; while all goes well it looks for more room every 60 seconds.
# - `FailureConfig(max_failures=3)` starts again after three failures, and gives up at the fourth. The default is 0: the first
#   worker that dies ends the run.
# - `CheckpointConfig(num_to_keep=…)` removes old checkpoints. The default keeps all of them.
#
# The last two belong into the `RunConfig`, beside `storage_path`.
#
# *Predict:* the global batch is 12. Why (2, 4), and not (2, 5)?


# %% nbgrader={"grade": false, "grade_id": "make_trainer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def make_trainer(num_workers, storage_path):
    """Return a TorchTrainer of train_loop_per_worker with CONFIG, on CPU workers over gloo.

    `num_workers` is (fewest, most). It survives 3 failures and keeps CONFIG["num_kept"] checkpoints.
    """
    ### BEGIN SOLUTION
    return TorchTrainer(
        train_loop_per_worker,
        train_loop_config=CONFIG,
        scaling_config=ScalingConfig(num_workers=num_workers, use_gpu=False),
        torch_config=TorchConfig(backend="gloo"),
        run_config=RunConfig(
            storage_path=storage_path,
            failure_config=FailureConfig(max_failures=3),
            checkpoint_config=CheckpointConfig(num_to_keep=CONFIG["num_kept"]),
        ),
    )
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_make_trainer", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
fsdp04.check_make_trainer(make_trainer)

# %% [markdown]
# (12 samples can be divided among 2, 3 and 4 ranks, not among 5: some would train on more than others, and their mean would no
# longer be that of the batch.)
#
# Now the real thing, for no points: a Ray of its own with two workers, in a process beside this kernel that ends with it. When
# a worker has taken 8 steps, its process is killed. It takes a minute, on a busy machine some, most of it to start Ray, and to
# import torch in each worker, twice.
#
# *Predict:* reports are after steps 3, 6, 9, …. How many steps are done twice?

# %% tags=["raises-exception"]
fsdp04.kill_a_ray_worker(make_trainer)

# %% [markdown]
# Two, or five: Ray takes reports in when it looks at its workers, every two seconds, and until then one of them waits in each
# worker. What was reported just before a death may not count.
#
# The machine is still there, and with it the room for two workers, so the loop starts again on two. On a cluster, where a machine
# had died with the worker, it would start on those that are left, if they are at least the fewest that you allow.

# %% [markdown]
# ## What survives a resize
#
# Your `save_shards` and `load_shards` beside DeepSpeed's checkpoints: each saved on 4 ranks after three steps, loaded on 4 and on 2,
# into other weights. Then one more step: its moments and weights say whether the optimizer's state came along.
#
# *Predict:* a ZeRO checkpoint holds a file per rank, with this rank's part of one long flat vector. What of that fits 2 ranks?

# %% tags=["raises-exception"]
fsdp04.compare_resizes(new_state, save_shards, load_shards)

# %% [markdown]
# ZeRO's own checkpoint goes on where as many ranks load it, and refuses otherwise. To take the weights alone is possible on any
# number, and starts AdamW cold. *Universal* is what `ds_to_universal.py` makes of such a checkpoint, in a run of its own: the
# partitions put together again, a file for each weight and each of its moments. DCP does not need that step: what it wrote says
# where each piece belongs, and every rank reads what it needs.
