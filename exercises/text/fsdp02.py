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
# # fsdp02 · ZeRO-1, ZeRO-2, ZeRO-3: by hand, then with DeepSpeed
#
# **Why.** Data parallel training keeps the same three things on every rank: parameters, gradients, and the optimizer's
# states. With Ψ parameters, mixed precision and Adam these are 2Ψ + 2Ψ + 12Ψ bytes. All ranks hold all 16Ψ, and all but one
# copy is redundant. ZeRO, the *zero redundancy optimizer*, removes the redundancy in three stages:
#
# | stage | what is partitioned over N ranks | bytes per rank, mixed precision |
# |---|---|---|
# | 1 | optimizer states | 2Ψ + 2Ψ + 12Ψ / N |
# | 2 | and gradients | 2Ψ + 2Ψ / N + 12Ψ / N |
# | 3 | and parameters | 16Ψ / N |
#
# **How.** Lay parameters end to end in one flat tensor, and cut it into N equal partitions. A rank owns one of them. It keeps
# the states of its own partition, updates it, and gathers the others' results.
#
# First you build all three stages by hand, with nothing but collectives of `torch.distributed`. Each must train exactly as
# one process with AdamW does. Its memory is measured to the byte, and its traffic is read from the ledger. Then you use
# DeepSpeed, and know what it does.
#
# Each step has functions to write and a check. A check that fails says which mistake it is; `fsdp02.hint(3)` gives a hint for
# step 3, and more when you ask again.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# %load_ext sandbox

import functools
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn

import sandbox
from grader import fsdp02
from sandbox import toys

# %% [markdown]
# ## Step 1 · One flat tensor, N partitions · 10 points
#
# Tensors have shapes that no number of ranks divides. Laid end to end they are one long row of elements, and that is easy to
# cut. What is missing to a multiple of `world_size` is filled up with zeros, once, at the end.
#
# A *view* shares the memory of what it is a view of. A partition must be one: what the optimizer writes into its partition
# then stands in the flat tensor already. `unflatten` is the way back: views of the flat tensor in the tensors' own shapes.
#
# *Predict:* 10 elements on 4 ranks. How many are padding, and what does rank 3 own?


# %% nbgrader={"grade": false, "grade_id": "flatten", "locked": false, "schema_version": 3, "solution": true, "task": false}
def flatten(tensors, world_size):
    """Return the tensors end to end: 1-D, zero-padded at its end to a multiple of world_size."""
    ### BEGIN SOLUTION
    flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
    return nn.functional.pad(flat, (0, -flat.numel() % world_size))
    ### END SOLUTION


def unflatten(flat, shapes):
    """Return a list of views of `flat`, one per shape, in order; the padding is left over."""
    ### BEGIN SOLUTION
    views, start = [], 0
    for shape in shapes:
        views.append(flat[start : start + shape.numel()].view(shape))
        start += shape.numel()
    return views
    ### END SOLUTION


def partition(flat, rank, world_size):
    """Return this rank's partition of `flat`: a view of the rank-th of world_size equal parts."""
    ### BEGIN SOLUTION
    return flat.chunk(world_size)[rank]
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_partition", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
fsdp02.check_partition(flatten, unflatten, partition)

# %% tags=["raises-exception"]
flat = flatten([torch.arange(1.0, 7.0).view(2, 3), torch.arange(7.0, 11.0)], world_size=4)
for rank in range(4):
    print(f"rank {rank}: {partition(flat, rank, 4).tolist()}")

# %% [markdown]
# The next steps use your functions through this one. It moves parameters into a flat tensor: afterwards each parameter is a
# view of `whole`, and so is this rank's `shard`. The shard is a parameter of its own, so that an optimizer takes it. Frozen
# parameters never go into the same flat tensor as trained ones: AdamW decays whatever it holds.


# %% nbgrader={"grade": false, "grade_id": "flatten_parameters", "locked": true, "schema_version": 3, "solution": false, "task": false}
@dataclass
class FlatParameters:
    """Parameters that lie in one flat tensor, and this rank's partition of it."""

    parameters: list[nn.Parameter]  # views of whole, in their own shapes
    whole: Tensor  # 1-D, padded
    shard: nn.Parameter  # 1-D, whole.numel() // world_size elements


def flatten_parameters(parameters):
    """Move the parameters into a flat tensor; return it as FlatParameters."""
    parameters = list(parameters)
    rank, world_size = dist.get_rank(), dist.get_world_size()
    whole = flatten([parameter.detach() for parameter in parameters], world_size)
    shapes = [parameter.shape for parameter in parameters]
    for parameter, view in zip(parameters, unflatten(whole, shapes), strict=True):
        parameter.data = view
    shard = partition(whole, rank, world_size)
    return FlatParameters(parameters, whole, nn.Parameter(shard, parameters[0].requires_grad))


# %% [markdown]
# ## Step 2 · ZeRO-1: each rank steps its own partition · 12 points
#
# AdamW keeps two moments per weight. In ZeRO-1 a rank's AdamW knows one parameter only: its shard. So the moments are
# sharded by themselves. A step is then
#
# 1. **average the gradients** over the ranks. A rank needs the average of its own partition only. `dist.reduce_scatter_tensor`
#    computes exactly that, with `op=dist.ReduceOp.AVG`; `all_reduce` computes all of it on all ranks, and sends twice as much.
# 2. **step** the shard, with its partition of the gradient as `shard.grad`,
# 3. **gather** the new parameters: `dist.all_gather_into_tensor(whole, shard.detach())` puts all shards end to end.
#
# The parameters' own gradients have then done their duty: set them to None.
#
# `parameters` is what `model.parameters()` returns: an iterator. Go through it once, or make a list of it first.
#
# *Predict:* four ranks, Ψ parameters in fp32. How many bytes of moments does a rank hold?


# %% nbgrader={"grade": false, "grade_id": "zero1", "locked": false, "schema_version": 3, "solution": true, "task": false}
def zero1_init(parameters, lr):
    """Return (flat, optimizer): the parameters as FlatParameters, and an AdamW over its shard."""
    ### BEGIN SOLUTION
    flat = flatten_parameters(parameters)
    return flat, torch.optim.AdamW([flat.shard], lr=lr)
    ### END SOLUTION


def zero1_step(flat, optimizer):
    """Take the step that follows one backward, and free the gradients. Collective: all ranks."""
    ### BEGIN SOLUTION
    gradients = flatten([parameter.grad for parameter in flat.parameters], dist.get_world_size())
    flat.shard.grad = torch.empty_like(flat.shard)
    dist.reduce_scatter_tensor(flat.shard.grad, gradients, op=dist.ReduceOp.AVG)
    optimizer.step()
    dist.all_gather_into_tensor(flat.whole, flat.shard.detach())
    for parameter in [*flat.parameters, flat.shard]:
        parameter.grad = None
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_zero1", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
fsdp02.check_zero1(zero1_init, zero1_step)

# %% [markdown]
# ## Step 3 · ZeRO-2: gradients are reduced as they come, and freed · 14 points
#
# After backward, step 2 holds a whole set of gradients: Ψ elements on every rank. But a rank needs Ψ / N of them. So reduce
# early: as soon as some gradients are complete, reduce-scatter them, keep your share, free the rest.
#
# One collective per parameter would be slow: each has a latency. So parameters are grouped into *buckets*. Backward computes
# gradients from the last layer to the first, so the buckets are filled **in reverse order**: the first bucket is
# complete early in backward. Each bucket is one `FlatParameters` with a shard of its own.
#
# - `make_buckets` groups; a bucket takes parameters as long as it stays within `bucket_cap_numel` elements. A
#   parameter larger than that gets a bucket of its own.
# - `reduce_gradients` is called by the hook below when all gradients of a bucket are there. It **adds** the
#   average to `shard.grad`: between two steps there may be several backward passes (gradient accumulation).
# - `zero2_step` then finds all gradients reduced.


# %% nbgrader={"grade": false, "grade_id": "zero2", "locked": false, "schema_version": 3, "solution": true, "task": false}
def make_buckets(parameters, bucket_cap_numel):
    """Return the parameters from the last to the first, in lists of at most bucket_cap_numel elements."""
    ### BEGIN SOLUTION
    buckets, numel = [], 0
    for parameter in reversed(list(parameters)):
        if not buckets or numel + parameter.numel() > bucket_cap_numel:
            buckets.append([])
            numel = 0
        buckets[-1].append(parameter)
        numel += parameter.numel()
    return buckets
    ### END SOLUTION


def reduce_gradients(flat):
    """Add this rank's partition of the averaged gradients to shard.grad; free the whole ones.

    Collective: all ranks, in the same order of buckets.
    """
    ### BEGIN SOLUTION
    gradients = flatten([parameter.grad for parameter in flat.parameters], dist.get_world_size())
    reduced = torch.empty_like(flat.shard)
    dist.reduce_scatter_tensor(reduced, gradients, op=dist.ReduceOp.AVG)
    flat.shard.grad = reduced if flat.shard.grad is None else flat.shard.grad + reduced
    for parameter in flat.parameters:
        parameter.grad = None
    ### END SOLUTION


def zero2_step(buckets, optimizer):
    """Step all shards, gather the parameters of each bucket, free the gradients. Collective."""
    ### BEGIN SOLUTION
    optimizer.step()
    optimizer.zero_grad()
    for flat in buckets:
        dist.all_gather_into_tensor(flat.whole, flat.shard.detach())
    ### END SOLUTION


# %% nbgrader={"grade": false, "grade_id": "zero2_init", "locked": true, "schema_version": 3, "solution": false, "task": false}
def zero2_init(parameters, lr, bucket_cap_numel):
    """Return (buckets, optimizer); each bucket is reduced as soon as its last gradient is there."""
    buckets = [flatten_parameters(bucket) for bucket in make_buckets(parameters, bucket_cap_numel)]
    for flat in buckets:
        arrived = set()

        def note(parameter, flat=flat, arrived=arrived):
            arrived.add(parameter)
            if len(arrived) == len(flat.parameters):
                arrived.clear()
                reduce_gradients(flat)

        for parameter in flat.parameters:
            parameter.register_post_accumulate_grad_hook(note)
    return buckets, torch.optim.AdamW([flat.shard for flat in buckets], lr=lr)


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_zero2", "locked": true, "points": 14, "schema_version": 3, "solution": false, "task": false}
fsdp02.check_zero2(make_buckets, reduce_gradients, zero2_step, zero2_init)

# %% [markdown]
# ## Step 4 · ZeRO-3: parameters that come and go · 10 points
#
# A rank now keeps its shard alone. `whole` exists only while a layer runs: `gather` fills it, `release` frees it.
#
# How to free it needs care. In forward, autograd remembers what backward needs, and that includes views of the weights.
# Put a new tensor in place of the old one, and autograd keeps the old one alive: nothing is freed. So the tensor stays, and only
# the memory behind it goes: `whole.untyped_storage().resize_(0)`. For `gather` the storage gets its bytes back, and every view
# of it, autograd's too, sees the values again. FSDP does the same.
#
# *Predict:* which bytes does a rank hold after forward, and which during it?


# %% nbgrader={"grade": false, "grade_id": "gather", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gather(flat):
    """Give `whole` its memory back and fill it with all ranks' shards. Collective: all ranks."""
    ### BEGIN SOLUTION
    flat.whole.untyped_storage().resize_(flat.whole.numel() * flat.whole.itemsize)
    dist.all_gather_into_tensor(flat.whole, flat.shard.detach())
    ### END SOLUTION


def release(flat):
    """Free the memory of `whole`; the tensor, and all views of it, stay."""
    ### BEGIN SOLUTION
    flat.whole.untyped_storage().resize_(0)
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_gather", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
fsdp02.check_gather(gather, release)

# %% [markdown]
# ## Step 5 · ZeRO-3: a whole model, forward and backward · 12 points
#
# `shard_parameters` copies this rank's shard out of the flat tensor and releases the rest. `attach` hooks your functions to
# the model: a block is gathered before its forward and released after it. When backward reaches it, it is gathered again;
# when backward has gone on to the next block, its gradients are reduced and it is released. The rest of the model, its *root*,
# is gathered for all of forward, and again for all of backward.


# %% nbgrader={"grade": false, "grade_id": "attach", "locked": true, "schema_version": 3, "solution": false, "task": false}
def shard_parameters(parameters):
    """Return the parameters as FlatParameters of which only this rank's shard is kept."""
    parameters = list(parameters)
    if any(parameter.untyped_storage().nbytes() == 0 for parameter in parameters):
        raise ValueError("a parameter lies in another flat tensor already; put each into one")
    flat = flatten_parameters(parameters)
    flat.shard = nn.Parameter(flat.shard.detach().clone(), flat.shard.requires_grad)
    release(flat)
    return flat


def attach(model, root_flats, block_flats):
    """Hook gather, release and reduce_gradients to `model`; block_flats holds a list per block."""
    running = []  # the block that backward is in

    def gather_all(flats):
        for flat in flats:
            gather(flat)

    def release_all(flats):
        for flat in flats:
            release(flat)

    def finish(flats):
        for flat in flats:
            if flat.shard.requires_grad:
                reduce_gradients(flat)
        release_all(flats)

    def begin_block_backward(flats):
        if running:
            finish(running.pop())
        gather_all(flats)
        running.append(flats)

    def end_backward():
        if running:
            finish(running.pop())
        finish(root_flats)

    def begin_backward():
        gather_all(root_flats)
        torch.autograd.Variable._execution_engine.queue_callback(end_backward)

    def hook(module, flats, begin):
        def after_forward(module, args, output):
            release_all(flats)
            if output.requires_grad:
                output.register_hook(lambda gradient: begin())

        module.register_forward_pre_hook(lambda module, args: gather_all(flats))
        module.register_forward_hook(after_forward)

    hook(model, root_flats, begin_backward)
    for block, flats in zip(model.blocks, block_flats, strict=True):
        hook(block, flats, functools.partial(begin_block_backward, flats))


# %% [markdown]
# What is left for you: which parameters share a flat tensor. Each block has its own, and the root has the rest. A tied weight
# is one parameter, and goes into one flat tensor. Where a block, or the root, has frozen parameters, these go into a
# second flat tensor: they are sharded and gathered like all others, but AdamW never gets them. (To ask whether a parameter is in a
# block, use a set: `in` on a list compares values, element by element.)
#
# *Predict:* how often does a step gather each parameter? And how often does `optimizer.step()` have to?


# %% nbgrader={"grade": false, "grade_id": "zero3_init", "locked": false, "schema_version": 3, "solution": true, "task": false}
def zero3_init(model, lr):
    """Shard `model` in place; return (flats, optimizer): all FlatParameters, an AdamW over shards.

    A step is then backward, optimizer.step() and optimizer.zero_grad(). Collective: all ranks.
    """

    ### BEGIN SOLUTION
    def shard(parameters):
        parameters = list(parameters)
        trained = [parameter for parameter in parameters if parameter.requires_grad]
        frozen = [parameter for parameter in parameters if not parameter.requires_grad]
        return [shard_parameters(part) for part in (trained, frozen) if part]

    in_blocks = set(model.blocks.parameters())
    root_flats = shard(p for p in model.parameters() if p not in in_blocks)
    block_flats = [shard(block.parameters()) for block in model.blocks]
    attach(model, root_flats, block_flats)
    flats = sum(block_flats, root_flats)
    trained = [flat.shard for flat in flats if flat.shard.requires_grad]
    return flats, torch.optim.AdamW(trained, lr=lr)
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_zero3", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
fsdp02.check_zero3(zero3_init)

# %% [markdown]
# ## Step 6 · Predict the bytes of every stage · 8 points
#
# Two ways of counting are common. Say which one you mean, they share their sum and nothing else:
#
# - **mixed precision**, as in the ZeRO paper: parameters 2 bytes, gradients 2, and 12 of optimizer states: an fp32 copy of the
#   weights ("master weights"), and two fp32 moments. 16 bytes per parameter.
# - **all fp32**, as in your steps above: parameters 4, gradients 4, two moments 8. Also 16.
#
# A stage partitions what it names and all that the stages below it do. A partition has ceil(Ψ / N) elements.
#
# *Predict:* a model of 7B parameters on 8 ranks with 80 GB each. Which stages fit, before any activation?


# %% nbgrader={"grade": false, "grade_id": "predict_model_state_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_model_state_bytes(num_params, world_size, stage, mixed_precision):
    """Return the bytes of parameters, gradients and Adam's states together on one rank."""
    ### BEGIN SOLUTION
    parameter, gradient, states = (2, 2, 12) if mixed_precision else (4, 4, 8)
    share = -(-num_params // world_size)
    return (
        parameter * (share if stage >= 3 else num_params)
        + gradient * (share if stage >= 2 else num_params)
        + states * (share if stage >= 1 else num_params)
    )
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_predict_model_state_bytes", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
fsdp02.check_predict_model_state_bytes(predict_model_state_bytes)

# %% tags=["raises-exception"]
print("mixed precision, GB per rank:   stage 0   stage 1   stage 2   stage 3")
for billions in (7, 70):
    for world_size in (8, 64, 512):
        sizes = [predict_model_state_bytes(billions * 10**9, world_size, s, True) for s in range(4)]
        row = "".join(f"{size / 1e9:10,.1f}" for size in sizes)
        print(f"{billions:3}B on {world_size:4} ranks            {row}")

# %% [markdown]
# Stage 1 stops helping at 4Ψ bytes and stage 2 at 2Ψ, on however many ranks: 28 GB and 14 GB for 7B. Only stage 3 goes on.
#
# ## Step 7 · Predict the traffic · 6 points
#
# In a ring, a reduce-scatter or an all-gather of S bytes makes every rank send (N - 1) / N · S; an all-reduce is both,
# one after the other. Section 7 of the ZeRO paper counts one step of Ψ parameters:
#
# - **stage 0**: one all-reduce of the gradients: 2Ψ
# - **stage 1 and 2**: reduce-scatter of the gradients, all-gather of the new parameters: 2Ψ
# - **stage 3**: reduce-scatter of the gradients, all-gather of the parameters in forward and again in backward: 3Ψ
#
# each times (N - 1) / N. So the first two stages are free, and the third costs half as much again.


# %% nbgrader={"grade": false, "grade_id": "predict_sent_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_sent_bytes(num_params, world_size, stage, itemsize):
    """Return the bytes that a rank sends in a step; an element has itemsize bytes."""
    ### BEGIN SOLUTION
    times = 3 if stage == 3 else 2
    return times * num_params * itemsize * (world_size - 1) / world_size
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_predict_sent_bytes", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
fsdp02.check_predict_sent_bytes(predict_sent_bytes)

# %% [markdown]
# Now your three stages, measured: the bytes of model states at the end of backward, when gradients are there, and what a
# rank sends in a step. In brackets: how much more that is than your prediction.


# %% nbgrader={"grade": false, "grade_id": "train_by_hand", "locked": true, "schema_version": 3, "solution": false, "task": false}
def train_by_hand(stage):
    """Take three steps on this rank's sample; the marks tell where a step begins and ends."""
    model = toys.Transformer().to(sandbox.device())
    if stage == 1:
        step = functools.partial(zero1_step, *zero1_init(model.parameters(), lr=1e-2))
    elif stage == 2:
        step = functools.partial(zero2_step, *zero2_init(model.parameters(), 1e-2, 2_000))
    else:
        _, optimizer = zero3_init(model, lr=1e-2)

        def step():
            optimizer.step()
            optimizer.zero_grad()

    tokens = toys.token_samples([dist.get_rank()]).to(sandbox.device())
    for _ in range(3):
        sandbox.mark("step")
        toys.next_token_loss(model(tokens), tokens).backward()
        step()
    sandbox.mark("end")


# %% tags=["raises-exception"]
num_params = sum(parameter.numel() for parameter in toys.Transformer().parameters())
for stage in (1, 2, 3):
    fsdp02.measure(
        f"ZeRO-{stage} by hand",
        functools.partial(train_by_hand, stage),
        states=predict_model_state_bytes(num_params, 4, stage, mixed_precision=False),
        sent=predict_sent_bytes(num_params, 4, stage, itemsize=4),
    )

# %% [markdown]
# What is measured beyond the prediction are AdamW's step counters, four bytes for each tensor that it holds, and padding. By
# hand, the shards of ZeRO-3 belong to the optimizer and nobody else, so they are counted there.
#
# Watch your ZeRO-3 over time, in the memory chart. Dark blue is what is whole. The hill at the start is the model before it is
# sharded: for a moment it is whole on every rank (`deepspeed.zero.Init` avoids even that). From then on it is the root and one
# block at most.
#
# *Predict:* how high are the blue steps, against that first hill?

# %% tags=["raises-exception"]
sandbox.launch(functools.partial(train_by_hand, 3), memory=True)

# %% [markdown]
# ## Step 8 · DeepSpeed is a config · 10 points
#
# DeepSpeed does all of this when its config says so. The keys that matter:
#
# | key | meaning |
# |---|---|
# | `train_micro_batch_size_per_gpu` | samples of one forward on one rank |
# | `gradient_accumulation_steps` | how many such forwards make a step |
# | `train_batch_size` | samples of one step on all ranks: the product of the two and the number of ranks |
# | `gradient_clipping` | the largest norm of the gradient |
# | `bf16` | `{"enabled": True}`: compute in bfloat16, keep fp32 master weights |
# | `optimizer` | `{"type": "AdamW", "params": {"lr": …, "torch_adam": True}}` (torch's AdamW: its own needs a compiler) |
# | `zero_optimization` | `{"stage": …}` and more, below |
#
# In `zero_optimization`:
#
# | key | meaning |
# |---|---|
# | `stage` | 0, 1, 2 or 3 |
# | `reduce_bucket_size` | **elements** of gradients that are reduced at once; the buffer for them is allocated |
# | `allgather_bucket_size` | elements that are gathered at once (stages 1 and 2) |
# | `offload_optimizer` | `{"device": "cpu"}`: states live in the host's memory, the step runs there (stages 1 to 3) |
# | `offload_param` | `{"device": "cpu"}`: so do parameters (stage 3 alone) |
# | `stage3_param_persistence_threshold` | parameters with fewer elements stay whole on every rank (stage 3 alone) |
#
# DeepSpeed rejects some nonsense and swallows the rest. `fsdp02.explain_ds_config` reads a config for you: see what it finds
# here, and what DeepSpeed says to the same.

# %% nbgrader={"grade": false, "grade_id": "deepspeed_imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import os

os.environ.setdefault("DS_ACCELERATOR", sandbox.device().type)  # else deepspeed looks for it
import deepspeed

LR = 1e-2
MAX_NORM = 1.0
BUCKET_NUMEL = 2_000
PERSISTENT_NUMEL = 100

# %% tags=["raises-exception"]
fsdp02.explain_ds_config(
    {
        "train_micro_batch_size_per_gpu": 2,
        "gradient_accumulation_step": 4,
        "gradient_cliping": 1.0,
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-2, "torch_adam": True}},
        "zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}},
    },
    world_size=2,
)

# %% [markdown]
# Write the config. With `offload`, stages 1 and 2 offload the optimizer, stage 3 parameters as well. Both bucket sizes are
# `BUCKET_NUMEL`; the persistence threshold is `PERSISTENT_NUMEL`. A key that has no meaning at a stage is left out there.


# %% nbgrader={"grade": false, "grade_id": "ds_config", "locked": false, "schema_version": 3, "solution": true, "task": false}
def ds_config(stage, world_size, micro_batch_size, accumulation_steps, bf16=False, offload=False):
    """Return DeepSpeed's config, a dict, for AdamW with LR, clipped to MAX_NORM."""
    ### BEGIN SOLUTION
    zero = {"stage": stage, "reduce_bucket_size": BUCKET_NUMEL}
    if stage in (1, 2):
        zero["allgather_bucket_size"] = BUCKET_NUMEL
    if stage == 3:
        zero["stage3_param_persistence_threshold"] = PERSISTENT_NUMEL
    if offload and stage >= 1:
        zero["offload_optimizer"] = {"device": "cpu"}
    if offload and stage == 3:
        zero["offload_param"] = {"device": "cpu"}
    return {
        "train_batch_size": micro_batch_size * accumulation_steps * world_size,
        "train_micro_batch_size_per_gpu": micro_batch_size,
        "gradient_accumulation_steps": accumulation_steps,
        "gradient_clipping": MAX_NORM,
        "bf16": {"enabled": bf16},
        "optimizer": {"type": "AdamW", "params": {"lr": LR, "torch_adam": True}},
        "zero_optimization": zero,
    }
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_ds_config", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
fsdp02.check_ds_config(ds_config)

# %% [markdown]
# ## Step 9 · Train with the engine · 8 points
#
# `deepspeed.initialize(model=…, config=…, model_parameters=…)` returns a tuple whose first entry is the *engine*. From then on
# the engine is what you call, not the model: `engine(tokens)` for forward, `engine.backward(loss)`, `engine.step()`.
#
# Call `engine.step()` after **every** micro-batch. The engine counts: it steps, clips and clears gradients at the last
# micro-batch of each accumulation only. It also divides the loss by the number of micro-batches, so you do not.
#
# Frozen parameters stay out of `model_parameters`.
#
# *Predict:* what happens if you call `engine.step()` only once per accumulation, as you would step torch's AdamW?


# %% nbgrader={"grade": false, "grade_id": "train", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train(model, config, micro_batches):
    """Train on this rank's micro-batches of tokens; return (engine, losses), a float for each.

    Collective: every rank must call this, with as many micro-batches.
    """
    ### BEGIN SOLUTION
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    engine, *_ = deepspeed.initialize(model=model, config=config, model_parameters=trained)
    losses = []
    for tokens in micro_batches:
        loss = toys.next_token_loss(engine(tokens), tokens)
        engine.backward(loss)
        engine.step()
        losses.append(loss.item())
    return engine, losses
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_train", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
fsdp02.check_train(train)

# %% [markdown]
# The answer: the engine counts its calls. With two micro-batches per step, it would take half as many steps, each of them on
# gradients that do not belong together.
#
# Now measure DeepSpeed's four stages as you measured your own, in bf16 and on four ranks. Three more follow: stage 2 that reduces
# each gradient to its owner; stage 3 with the defaults of bucket size and persistence; stage 3 that fetches nothing ahead and
# keeps no parameter alive.
#
# *Predict:* the default `reduce_bucket_size` is 5e8 elements. How many bytes is that in bf16?


# %% nbgrader={"grade": false, "grade_id": "train_with_deepspeed", "locked": true, "schema_version": 3, "solution": false, "task": false}
def train_with_deepspeed(config):
    """Take three steps on this rank's sample; the marks tell where a step begins and ends."""

    def micro_batches():
        for _ in range(3):
            sandbox.mark("step")
            yield toys.token_samples([dist.get_rank()]).to(sandbox.device())

    train(toys.Transformer(), config, micro_batches())
    sandbox.mark("end")


# %% tags=["raises-exception"]
configs = {f"ZeRO-{stage}": ds_config(stage, 4, 1, 1, bf16=True) for stage in range(4)}
defaults = {"stage": 3}
nothing_kept = {
    "stage": 3,
    "reduce_bucket_size": BUCKET_NUMEL,
    "stage3_param_persistence_threshold": 0,
    "stage3_prefetch_bucket_size": 0,
    "stage3_max_live_parameters": 0,
    "stage3_max_reuse_distance": 0,
}
to_owners = configs["ZeRO-2"]["zero_optimization"] | {"use_multi_rank_bucket_allreduce": False}
configs["ZeRO-2, to owners"] = configs["ZeRO-2"] | {"zero_optimization": to_owners}
configs["ZeRO-3, defaults"] = configs["ZeRO-3"] | {"zero_optimization": defaults}
configs["ZeRO-3, nothing kept"] = configs["ZeRO-3"] | {"zero_optimization": nothing_kept}
for name, config in configs.items():
    stage = config["zero_optimization"]["stage"]
    fsdp02.measure(
        name,
        functools.partial(train_with_deepspeed, config),
        states=predict_model_state_bytes(num_params, 4, stage, mixed_precision=True),
        sent=predict_sent_bytes(num_params, 4, stage, itemsize=2),
    )

# %% [markdown]
# Nearly every gap has a name:
#
# - **Step counters**: AdamW keeps a 4-byte counter per tensor. Stage 0 has 30 tensors, the other stages one flat tensor.
# - **A few bytes sent**: the norm for clipping is an all-reduce of one number.
# - **Stage 1 partitions gradients as well.** A rank drops what it does not own once it is reduced. It keeps tensors, not elements: one
#   that lies across the border of two partitions stays whole on both. So stages 1 and 2 hold the same, and a little more than Ψ / N.
# - **Traffic of stages 1 and 2: 3Ψ**, not 2Ψ. By default DeepSpeed all-reduces each bucket where the paper reduce-scatters. With
#   `use_multi_rank_bucket_allreduce` off it reduces each owner's part to the owner, and that is the paper's 2Ψ. A paper tells what
#   can be done; the ledger tells what is.
# - **Traffic of stage 3: 2Ψ**, not 3Ψ, with the usual settings. A parameter that was gathered for forward is kept for backward, as
#   long as fewer than `stage3_max_live_parameters` (1e9) elements are whole. Our toy never gets there, so it is whole in
#   between. With those limits at 0 it is 3Ψ, as in the paper. A model larger than the limits lies between the two.
# - **Unsharded**: what is below `stage3_param_persistence_threshold` is whole at all times. The default is 1e5 elements, and no
#   parameter of the toy has as many: by default its ZeRO-3 keeps every parameter whole.
# - **Buffers**: stage 3 allocates its bucket of gradients once, `reduce_bucket_size` elements, however small the model is. By default
#   5e8: a gigabyte in bf16. On a large model that is little; count it all the same.
#
# What ranks on the CPU cannot show is offloading: all their memory is the host's. On GPUs it moves the 12 bytes of states, and with
# `offload_param` parameters too, out of the GPU's memory, and pays with a slower step.
#
# Prediction and measurement of DeepSpeed's stage 3, category by category:

# %% tags=["raises-exception"]
run = sandbox.launch(
    functools.partial(train_with_deepspeed, ds_config(3, 4, 1, 1, bf16=True)), memory=True
)
run.memory.compare(sandbox.model_states(num_params, 4, 3, param_dtype="bfloat16"))

# %% [markdown]
# ## Step 10 · Read a ZeRO-3 parameter · 5 points
#
# After `initialize` with stage 3, a parameter of the model has the shape `(0,)`: its values are in the ranks' shards. To read
# or save a weight outside of forward and backward, gather it: `deepspeed.zero.GatheredParameters(parameters)` is a context in
# which they are whole on all ranks. It is collective. Copy what you want to keep: after the context they are gone again.


# %% nbgrader={"grade": false, "grade_id": "read_parameters", "locked": false, "schema_version": 3, "solution": true, "task": false}
def read_parameters(model):
    """Return name -> whole parameter, a copy, on every rank and for every stage. Collective."""
    ### BEGIN SOLUTION
    with deepspeed.zero.GatheredParameters(list(model.parameters())):
        return {name: weight.detach().clone() for name, weight in model.named_parameters()}
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_read_parameters", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
fsdp02.check_read_parameters(read_parameters)


# %% tags=["raises-exception"]
def look_at_shapes():
    tokens = toys.token_samples([0]).to(sandbox.device())
    engine, _ = train(toys.Transformer(), ds_config(3, 2, 1, 1), [tokens])
    shown = {name: tuple(weight.shape) for name, weight in engine.module.named_parameters()}
    whole = read_parameters(engine.module)
    return {name: (shape, tuple(whole[name].shape)) for name, shape in shown.items()}


for name, (shape, whole_shape) in sandbox.launch(look_at_shapes, world_size=2).results[0].items():
    if name.startswith(("embedding", "norm", "blocks.0.feed")):
        print(f"{name:35} shows {shape!s:6} gathered {whole_shape}")

# %% [markdown]
# `norm.weight` is whole all the time: it has fewer than `PERSISTENT_NUMEL` elements. A gather for 24 numbers costs more time than
# it saves memory.
#
# ## Step 11 · Save and load, on all ranks · 5 points
#
# `engine.save_checkpoint(directory, client_state={…})` writes the model's states and each rank's part of the optimizer. Every rank has a
# part, so **every rank calls it**; with `if rank == 0` the others never come, and rank 0 waits for ever.
#
# `engine.load_checkpoint(directory)` returns the path, and the `client_state` that you saved: here `next_step`.


# %% nbgrader={"grade": false, "grade_id": "checkpoint", "locked": false, "schema_version": 3, "solution": true, "task": false}
def save_checkpoint(engine, directory, next_step):
    """Write to `directory` what it takes to go on with step `next_step`. Collective: all ranks."""
    ### BEGIN SOLUTION
    engine.save_checkpoint(directory, client_state={"next_step": next_step})
    ### END SOLUTION


def load_checkpoint(engine, directory):
    """Restore the engine from `directory`; return next_step. Collective: all ranks."""
    ### BEGIN SOLUTION
    _, client_state = engine.load_checkpoint(directory)
    return client_state["next_step"]
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_checkpoint", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
fsdp02.check_checkpoint(save_checkpoint, load_checkpoint)

# %% [markdown]
# That was ZeRO, twice. FSDP2 is the same idea in torch itself: `fully_shard` is stage 3, and with `reshard_after_forward=False` it
# sends what stage 2 sends. The words differ, the bytes do not.
