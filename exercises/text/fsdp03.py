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
# # fsdp03 · Mixed precision and activation checkpointing
#
# **Why.** Sharding divides weights, gradients and moments by the number of ranks (fsdp01). Two things stay. What is gathered
# and computed is still in fp32: four bytes a number, and not the fastest matrix units of a GPU. And the *activations*, what
# forward keeps for backward, are each rank's own: no sharding of weights makes them fewer.
#
# **How.** *Mixed precision* computes and gathers in 16 bits, and keeps the weights themselves in 32. *Activation
# checkpointing* throws activations away in forward and computes them again in backward.
#
# **The price.** 16 bits lose something: small updates in bf16, small and large gradients in fp16. And computing again takes
# FLOPs. You see both, with your own numbers, and at the end you choose what to pay.
#
# You build this in twelve steps, on real ranks: processes that talk over gloo on this machine. A check that fails says which
# mistake it is, and what to do next; `fsdp03.hint(3)` gives a hint for step 3, and more when you ask again.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# %load_ext sandbox

import functools
import itertools
import math

import torch
import torch.distributed as dist
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

import sandbox
from grader import fsdp03
from sandbox import toys

# %% [markdown]
# A floating point number has bits for its size (exponent) and bits for its digits (mantissa). With two bytes you must choose:
#
# | | exponent | mantissa | largest | smallest above 0 | next after 1 |
# |---|---|---|---|---|---|
# | fp32 | 8 bits | 23 bits | 3.4 · 10³⁸ | 1.4 · 10⁻⁴⁵ | 1.00000012 |
# | bf16 | 8 bits | 7 bits | 3.4 · 10³⁸ | 9.2 · 10⁻⁴¹ | 1.0078 |
# | fp16 | 5 bits | 10 bits | 65,504 | 6.0 · 10⁻⁸ | 1.00098 |
#
# bf16 has the range of fp32 and two to three decimal digits. fp16 has three to four digits, and a narrow range. Each has its own
# way to ruin a training run.
#
# ## Step 1 · Updates that bf16 loses · 8 points
#
# A step adds a small update to a weight. If the sum lies nearer to the old weight than to the next number of the format, it
# is rounded back: the weight does not move. Not now, and not in a thousand such steps.
#
# *Predict:* bf16 numbers near 1 are 0.0078 apart. What is 1 + 0.003 in bf16?


# %% nbgrader={"grade": false, "grade_id": "lost_updates", "locked": false, "schema_version": 3, "solution": true, "task": false}
def lost_updates(weights, updates, dtype):
    """Return how many updates that are not 0 leave their weight as it was, an int.

    `weights` and `updates` are fp32; a weight is stored in `dtype`, and the sum is rounded to it.
    """
    ### BEGIN SOLUTION
    stored = weights.to(dtype)
    new = stored + updates.to(dtype)
    return ((new == stored) & (updates != 0)).sum().item()
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_lost_updates", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
fsdp03.check_lost_updates(lost_updates)

# %% [markdown]
# Each row is a number line around the weight; a tick is a number that the format has (fp32 has too many to draw). The dashed circle is
# the exact sum, the filled one what is stored.

# %% tags=["raises-exception"]
fsdp03.draw_spacing(weight=1.0, update=0.003)

# %% [markdown]
# And again, and again. *Predict:* where is the weight after 1,000 such steps?

# %% tags=["raises-exception"]
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    weight = torch.tensor(1.0, dtype=dtype)
    for _ in range(1_000):
        weight += 0.003
    print(f"{dtype!s:16}{weight.item():.4f}")

# %% [markdown]
# In bf16 it never moved. In fp16 it moved too far: above 2 the numbers are 0.00195 apart, and each 0.003 becomes 0.0039.
#
# Now with a real model and a usual learning rate. One step of plain gradient descent, with the weights stored in each format:

# %% tags=["raises-exception"]
model = toys.Transformer()
tokens = toys.token_samples(range(8))
toys.next_token_loss(model(tokens), tokens).backward()
weights = torch.cat([weight.detach().flatten() for weight in model.parameters()])
gradients = torch.cat([weight.grad.flatten() for weight in model.parameters()])
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    lost = lost_updates(weights, -1e-2 * gradients, dtype)
    print(f"{dtype!s:16}{lost:>8,} of {(gradients != 0).sum():,} updates are lost")

# %% [markdown]
# So the weights that the optimizer updates stay in fp32, the *master weights*. A copy in bf16 is enough to compute with: there,
# nothing is added up over many steps.
#
# ## Step 2 · Gradients that fp16 loses · 6 points
#
# What fp16 cannot hold is range. A gradient below 3 · 10⁻⁸ becomes 0 (underflow), one of 65,520 or more becomes inf (overflow).
# Gradients are often small and seldom large. So the loss is multiplied by a *loss scale* before backward. By the chain rule every
# gradient comes out multiplied by it, and is divided again in fp32. A power of two changes the exponent only: no digit is lost.
#
# The largest scale is found from the largest gradient. It may well be below 1.


# %% nbgrader={"grade": false, "grade_id": "fp16_range", "locked": false, "schema_version": 3, "solution": true, "task": false}
def num_underflows(gradients, scale):
    """Return how many gradients that are not 0 become 0 in fp16 when multiplied by `scale`."""
    ### BEGIN SOLUTION
    in_fp16 = (gradients * scale).to(torch.float16)
    return ((in_fp16 == 0) & (gradients != 0)).sum().item()
    ### END SOLUTION


def largest_scale(gradients):
    """Return the largest power of two that keeps all gradients, times it, finite in fp16."""
    ### BEGIN SOLUTION
    largest = gradients.abs().max().item()
    return 2.0 ** math.floor(math.log2(torch.finfo(torch.float16).max / largest))
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_fp16_range", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
fsdp03.check_fp16_range(num_underflows, largest_scale)

# %% [markdown]
# Late in training, gradients are small. Here are your gradients from above divided by a million. *Predict:* which scale brings
# them back?

# %% tags=["raises-exception"]
fsdp03.draw_range(1e-6 * gradients, largest_scale)

# %% [markdown]
# bf16 needs none of this: it reaches as far as fp32. That is why it is the usual choice where the hardware has it. First bf16, then, in
# step 5, fp16.
#
# ## Step 3 · Mixed precision under FSDP2 · 12 points
#
# FSDP2 has the right place for two formats. What a rank holds, the shard, stays in fp32: these are the master weights, and the
# optimizer sees nothing else. What is *gathered* is cast just before, and is gone after the layer. `MixedPrecisionPolicy` says how:
#
# - `param_dtype`: the dtype of gathered weights, and of all that is computed with them.
# - `reduce_dtype`: the dtype in which gradients are averaged over the ranks. Left out, it is `param_dtype`.
#
# Each `fully_shard` takes its own policy, as `mp_policy=…`. The units are those of fsdp01: each block, then the model.
#
# *Predict:* which collectives become cheaper, and which do not, with bf16 to compute and fp32 to reduce?


# %% nbgrader={"grade": false, "grade_id": "shard_mixed", "locked": false, "schema_version": 3, "solution": true, "task": false}
def shard_mixed(model, mesh):
    """Shard `model` in place by block and root; bf16 compute, fp32 reduce; return it."""
    ### BEGIN SOLUTION
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    return model
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_shard_mixed", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
fsdp03.check_shard_mixed(shard_mixed)

# %% [markdown]
# One step, in numbers. The ledger holds the dtype of every collective, and its bytes.


# %% tags=["raises-exception"]
def one_step(prepare):
    mesh = init_device_mesh(sandbox.device().type, (dist.get_world_size(),))
    model = prepare(toys.Transformer(num_blocks=6), mesh)
    tokens = toys.token_samples([dist.get_rank()]).to(sandbox.device())
    toys.next_token_loss(model(tokens), tokens).backward()


def shard_fp32(model, mesh):
    for module in [*model.blocks, model]:
        fully_shard(module, mesh=mesh)
    return model


for prepare in (shard_fp32, shard_mixed):
    ledger = sandbox.launch(one_step, prepare, world_size=4).ledger
    for op in ("all_gather", "reduce_scatter"):
        events = ledger.where(op=op)
        sent = events.sent_bytes(rank=0)
        print(
            f"{prepare.__name__:12}{op:16}{events[0].dtype:10}{sent:>10,.0f} bytes sent by rank 0"
        )
    print(f"{prepare.__name__:12}{'together':26}{ledger.sent_bytes(rank=0):>10,.0f}")

# %% [markdown]
# Half of the gathers' bytes, all of the reduce-scatters': a block is gathered twice and reduced once, so 12 bytes per weight become 8.
# Why not reduce in bf16 as well, and halve everything? Because a sum over N ranks rounds at each addition, to 8 bits. The
# next cell adds up N ranks' numbers in bf16, and compares with float64. *Predict:* does the error grow with N?


# %% tags=["raises-exception"]
def reduce_error(dtype):
    """Return the relative error of an all_reduce in `dtype` of numbers that scatter around 1."""
    generator = torch.Generator().manual_seed(dist.get_rank())
    numbers = 1 + torch.randn(20_000, generator=generator)
    numbers = numbers.to(sandbox.device())
    exact, rounded = numbers.double(), numbers.to(dtype)
    dist.all_reduce(exact)
    dist.all_reduce(rounded)
    return ((rounded.double() - exact).norm() / exact.norm()).item()


for world_size in (1, 2, 4, 8, 16):
    run = sandbox.launch(reduce_error, torch.bfloat16, world_size=world_size)
    print(f"{world_size:3} ranks: off by {run.results[0]:.2%}")

# %% [markdown]
# One rounding alone is off by 0.17 %; the other roundings come from adding up. So the reduction stays in fp32, unless the network is
# the bottleneck and the model bears it.
#
# ## Step 4 · Predict the bytes · 6 points
#
# As in fsdp01, in a ring a rank sends (N - 1) / N of what a collective moves. Per step a block is gathered twice, for forward and
# again for backward, and its gradients are reduce-scattered once. The root is gathered once: it stays whole in between. The sizes you get
# are padded already.
#
# *Predict:* in fp32, which part of all bytes are the gathers'? And mixed?


# %% nbgrader={"grade": false, "grade_id": "predict_sent_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_sent_bytes(root_numel, block_numels, world_size, param_itemsize, reduce_itemsize):
    """Return {"all_gather": …, "reduce_scatter": …}: bytes that a rank sends in one step.

    `root_numel` counts the root's elements, `block_numels` lists those of each block. A weight has
    `param_itemsize` bytes when gathered, a gradient `reduce_itemsize` when reduced.
    """
    ### BEGIN SOLUTION
    ring = (world_size - 1) / world_size
    blocks = sum(block_numels)
    return {
        "all_gather": (root_numel + 2 * blocks) * param_itemsize * ring,
        "reduce_scatter": (root_numel + blocks) * reduce_itemsize * ring,
    }
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_predict_sent_bytes", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
fsdp03.check_predict_sent_bytes(predict_sent_bytes)

# %% [markdown]
# Now for a model that no laptop holds: 32 blocks of 200 million weights each, and 260 million in the root, on 64 ranks; per step and rank:

# %% tags=["raises-exception"]
for name, param_itemsize, reduce_itemsize in (("fp32", 4, 4), ("mixed", 2, 4), ("bf16", 2, 2)):
    sent = predict_sent_bytes(260e6, 32 * [200e6], 64, param_itemsize, reduce_itemsize)
    gathered, reduced = sent["all_gather"] / 1e9, sent["reduce_scatter"] / 1e9
    print(
        f"{name:6}{gathered:5.1f} GB gathered, {reduced:4.1f} GB reduced: {gathered + reduced:.1f} GB"
    )

# %% [markdown]
# ## Step 5 · A loss scaler that all ranks agree on · 12 points
#
# fp16 needs the loss scale of step 2, and the best one changes while the model trains. So it is found by trial: **a dynamic loss
# scaler**. Backward runs on `loss * scale`. Then the gradients are divided by the scale, in place. If one of them is inf or
# NaN, the scale was too large: the step is skipped and the scale halved. After `growth_interval` good steps in a row it is doubled.
#
# Under FSDP each rank sees its own rows of the gradients. An overflow may lie in the rows of one rank alone. If that rank skips and
# the others step, they train different models from then on, and nothing complains. So the ranks must agree: *one rank's inf makes
# all ranks skip.*
#
# The gradient of a sharded parameter is a DTensor; `gradient.to_local()` is this rank's part, sharing its memory. A rank's part may be
# empty, and a frozen parameter has no gradient at all. `parameters` is what `model.parameters()` returns, an iterator: go through
# it once, or make a list of it first.
#
# *Predict:* what happens if only the rank that found an inf calls `all_reduce`?


# %% nbgrader={"grade": false, "grade_id": "loss_scaler", "locked": false, "schema_version": 3, "solution": true, "task": false}
def unscale_gradients(parameters, scale):
    """Divide each gradient by `scale`, in place; return whether any rank has an inf or NaN, a bool.

    Collective: every rank must call this.
    """
    ### BEGIN SOLUTION
    gradients = [weight.grad.to_local() for weight in parameters if weight.grad is not None]
    found_inf = torch.zeros(1, device=sandbox.device())
    for gradient in gradients:
        gradient.div_(scale)
        if not gradient.isfinite().all():
            found_inf.fill_(1)
    dist.all_reduce(found_inf, op=dist.ReduceOp.MAX)
    return bool(found_inf.item())
    ### END SOLUTION


def update_scale(scale, num_good_steps, found_inf, growth_interval):
    """Return (scale, num_good_steps) after a step that overflowed (`found_inf`), or did not.

    `num_good_steps` counts the good steps in a row since the scale last changed.
    """
    ### BEGIN SOLUTION
    if found_inf:
        return scale / 2, 0
    if num_good_steps + 1 == growth_interval:
        return scale * 2, 0
    return scale, num_good_steps + 1
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_loss_scaler", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
fsdp03.check_loss_scaler(unscale_gradients, update_scale)

# %% [markdown]
# Your scaler at work, on a model whose gradients overflow above a scale of 2¹⁴. It finds that limit and keeps trying, every fourth
# step, whether it still holds.

# %% tags=["raises-exception"]
scale, num_good_steps, seen = 2.0**10, 0, []
for _ in range(40):
    seen.append(round(math.log2(scale)))
    scale, num_good_steps = update_scale(scale, num_good_steps, scale > 2**14, growth_interval=4)
print("log2(scale) by step:", *seen)

# %% [markdown]
# `torch.amp.GradScaler` does the same, with `growth_interval=2000`. Given sharded gradients it issues an `all_reduce` with MAX of one number, as
# you do.
#
# ## Step 6 · One norm for all ranks · 10 points
#
# Clipping limits the length of the *whole* gradient. Each rank holds some rows of it. The norm of the whole is found from the sums of
# squares, which add up over the ranks:
#
# $$\lVert g \rVert = \sqrt{\sum_{r} \sum_{i \in \text{rank } r} g_i^2}$$
#
# In fsdp01 `torch.nn.utils.clip_grad_norm_` did it. Now you write it: one `all_reduce` of one number, and then all ranks multiply by the same
# factor, `min(1, max_norm / norm)`.
#
# *Predict:* the norm of each rank's own part, squared, added over 4 ranks, and the root taken. What comes out?


# %% nbgrader={"grade": false, "grade_id": "clip_by_global_norm", "locked": false, "schema_version": 3, "solution": true, "task": false}
def clip_by_global_norm(parameters, max_norm):
    """Scale gradients in place to a global norm of at most `max_norm`; return the norm before.

    Collective: every rank must call this.
    """
    ### BEGIN SOLUTION
    gradients = [weight.grad.to_local() for weight in parameters if weight.grad is not None]
    square_sum = sum(gradient.square().sum() for gradient in gradients)
    dist.all_reduce(square_sum)
    norm = square_sum.sqrt().item()
    for gradient in gradients:
        gradient.mul_(min(1.0, max_norm / norm))
    return norm
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_clip_by_global_norm", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
fsdp03.check_clip_by_global_norm(clip_by_global_norm)

# %% [markdown]
# ## Step 7 · One step in fp16 · 12 points
#
# Put together, in an order that matters:
#
# 1. Backward runs on the *scaled* loss, so that small gradients survive.
# 2. Unscale, before anything looks at the gradients. `max_norm` is meant for the true ones.
# 3. If no rank found an inf: clip, and step. Else skip both.
# 4. In either case: zero the gradients, and update the scale.
#
# `scaler` is a dict with `"scale"`, `"num_good_steps"` and `"growth_interval"`; the first two are yours to keep up to date.
#
# *Predict:* what would clipping to 1.0 do to gradients that are still multiplied by 65,536?


# %% nbgrader={"grade": false, "grade_id": "train_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_step(model, optimizer, tokens, scaler, max_norm):
    """Take one step with a loss scale, or skip it; update `scaler`; return whether it was skipped.

    Collective: every rank of the model's mesh must call this.
    """
    ### BEGIN SOLUTION
    scale, num_good_steps = scaler["scale"], scaler["num_good_steps"]
    loss = toys.next_token_loss(model(tokens), tokens)
    (loss * scale).backward()
    found_inf = unscale_gradients(model.parameters(), scale)
    if not found_inf:
        clip_by_global_norm(model.parameters(), max_norm)
        optimizer.step()
    optimizer.zero_grad()
    updated = update_scale(scale, num_good_steps, found_inf, scaler["growth_interval"])
    scaler["scale"], scaler["num_good_steps"] = updated
    return found_inf
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_train_step", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
fsdp03.check_train_step(train_step)

# %% [markdown]
# And now really in fp16, on four ranks, beginning with a scale that is far too large. `x` is a skipped step. The root casts what it returns
# to fp32 (`output_dtype`): a loss of 4, multiplied by 65,536 in fp16, would be inf whatever the gradients are.


# %% tags=["raises-exception"]
def train_in_fp16():
    mesh = init_device_mesh(sandbox.device().type, (dist.get_world_size(),))
    dtypes = {"param_dtype": torch.float16, "reduce_dtype": torch.float32}
    model = toys.Transformer()
    for block in model.blocks:
        fully_shard(block, mesh=mesh, mp_policy=MixedPrecisionPolicy(**dtypes))
    root = MixedPrecisionPolicy(**dtypes, output_dtype=torch.float32)
    fully_shard(model, mesh=mesh, mp_policy=root)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scaler = {"scale": 2.0**20, "num_good_steps": 0, "growth_interval": 8}
    steps = []
    for step in range(30):
        ids = range(100 * step + dist.get_rank(), 100 * step + 32, dist.get_world_size())
        tokens, scale = toys.token_samples(ids).to(sandbox.device()), scaler["scale"]
        is_skipped = train_step(model, optimizer, tokens, scaler, max_norm=1.0)
        steps.append(f"{math.log2(scale):.0f}{'x' if is_skipped else ''}")
    tokens = toys.token_samples(range(9_000, 9_032)).to(sandbox.device())
    return steps, toys.next_token_loss(model(tokens), tokens).item()


run = sandbox.launch(train_in_fp16, world_size=4)
print("log2(scale) by step:", *run.results[0][0])
print(f"all ranks alike: {run.results.count(run.results[0]) == 4}")
print(f"loss {run.results[0][1]:.2f}; guessing is {math.log(61):.2f}")

# %% [markdown]
# ## Step 8 · Find the NaN · 6 points
#
# A run's loss is NaN, and by now all of its weights are. Where did it begin? These are records of such a run on four ranks: the norm of every
# layer's gradient, as backward gave it on each rank, before averaging. The list holds rank after rank; what one rank recorded stands in
# the order in which backward computed it, from the head to the embedding.
#
# Three things spread an error. Backward hands it down to the layers below. Averaging hands it to all ranks. The step hands it to all
# weights. So the *first* step that has an inf or NaN has it on one rank, and the first such record of that rank in this step is the
# culprit. It need not be a NaN: often it is an inf, and inf - inf, one layer further down, is NaN.

# %% tags=["raises-exception"]
records = fsdp03.diverging_run()
print(records[0])
for step in range(6):
    bad = [entry.rank for entry in records if entry.step == step and not math.isfinite(entry.norm)]
    print(
        f"step {step}: inf or NaN in {[bad.count(rank) for rank in range(4)]} layers on ranks 0-3"
    )


# %% nbgrader={"grade": false, "grade_id": "first_nonfinite", "locked": false, "schema_version": 3, "solution": true, "task": false}
def first_nonfinite(records):
    """Return (step, rank, layer) of the gradient with which a run went wrong.

    A record has .step, .rank, .layer and .norm.
    """
    ### BEGIN SOLUTION
    bad = [record for record in records if not math.isfinite(record.norm)]
    first = min(bad, key=lambda record: record.step)  # of equal ones, the first of the list
    return first.step, first.rank, first.layer
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_first_nonfinite", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
fsdp03.check_first_nonfinite(first_nonfinite)

# %% [markdown]
# What backward had computed just before it, on the same rank, is finite still:

# %% tags=["raises-exception"]
step, rank, layer = first_nonfinite(records)
own = [record for record in records if (record.step, record.rank) == (step, rank)]
place = [record.layer for record in own].index(layer)
for record in own[place - 2 : place + 5]:
    print(f"step {record.step}, rank {record.rank}, {record.layer:32}{record.norm:8.3f}")

# %% [markdown]
# ## Step 9 · Throw activations away · 10 points
#
# Now to the other half of the memory. Forward keeps what backward will need: each layer's input, attention's scores, and so on. This grows
# with batch, length and depth. **Activation checkpointing** keeps of a block its *input* alone. In backward, when the block's turn comes, its
# forward runs once more from there. You pay with about one more forward: a step takes a third more FLOPs.
#
# `checkpoint_wrapper(block)` returns a module that does this, in torch's NO_REENTRANT way. (The older, reentrant way runs forward without
# autograd, and has more rules than one wants to know.) The second run must do exactly what the first did. So the wrapper restores
# the state of the random number generator for it: otherwise dropout would drop other numbers, and the gradients would be wrong without a word.
#
# Recomputing every second or third block is a way in between.
#
# *Predict:* why is it no use to make the whole model one such region?


# %% nbgrader={"grade": false, "grade_id": "checkpoint_blocks", "locked": false, "schema_version": 3, "solution": true, "task": false}
def checkpoint_blocks(model, every):
    """Checkpoint the blocks 0, every, 2 * every, …, each by itself, in place; return `model`."""
    ### BEGIN SOLUTION
    for number in range(0, len(model.blocks), every):
        model.blocks[number] = checkpoint_wrapper(model.blocks[number])
    return model
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_checkpoint_blocks", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
fsdp03.check_checkpoint_blocks(checkpoint_blocks)

# %% [markdown]
# Memory over time in one step on two ranks, first without, then with checkpointing. Forward climbs a hill, backward comes down again. With
# checkpointing the hill is flat, and backward builds up one block after the other. (Each picture has a scale of its own: compare the peaks.)


# %% tags=["raises-exception"]
def long_step(every=None, order="checkpoint first"):
    mesh = init_device_mesh(sandbox.device().type, (dist.get_world_size(),))
    model = toys.Transformer(num_blocks=6)
    if every and order == "checkpoint first":
        checkpoint_blocks(model, every)
    shard_fp32(model, mesh)
    if every and order == "shard first":
        checkpoint_blocks(model, every)
    tokens = toys.token_samples([dist.get_rank(), 9], seq_len=64).to(sandbox.device())
    toys.next_token_loss(model(tokens), tokens).backward()


sandbox.launch(long_step, world_size=2, memory=True)

# %% tags=["raises-exception"]
sandbox.launch(long_step, 1, world_size=2, memory=True)

# %% [markdown]
# Sharding and checkpointing meet in backward: the block must be gathered when it is recomputed. Does the order matter, in which you apply
# them? FSDP2 knows about recomputation: it gathers once, before it, either way. We checkpoint first and then shard, as most code
# does: then the unit is around the region. Measured:

# %% tags=["raises-exception"]
for every, order in ((None, ""), (1, "checkpoint first"), (1, "shard first")):
    run = sandbox.launch(long_step, every, order, world_size=2, memory=True)
    print(
        f"{order or 'no checkpointing':18}{run.ledger.count('all_gather')} gathers, "
        f"{run.memory.at('forward').bytes['activations']:>9,} bytes of activations, "
        f"peak {run.memory.peak().total:>9,}"
    )

# %% [markdown]
# "Saves up to 70 % of the memory" is what one reads of activation checkpointing. Here is what it saves of *everything* that a rank holds at its peak:
# weights, gradients and activations. *Predict:* for which depth and length is it most, and for which next to nothing?

# %% tags=["raises-exception"]
fsdp03.measure_saving(checkpoint_blocks, depths=(1, 2, 8), seq_lens=(16, 128))

# %% [markdown]
# One block alone is recomputed whole just when the peak is reached: nothing is saved. With depth and length the activations outweigh all
# else, and then it is 70 % and more. So the number says as much about the model as about the method. What is always true:
# the *activations of the blocks* shrink to their inputs, and one block's worth comes back in backward.
#
# ## Step 10 · Recompute only what is cheap · 8 points
#
# Most of a block's activations are cheap to make: norms, the softmax, the gate's product. Most of its FLOPs are in matmuls. **Selective
# checkpointing** keeps the results of matmuls, and recomputes everything else.
#
# `checkpoint_wrapper(block, context_fn=…)` takes a function that returns two contexts, one for forward and one for the recomputation.
# `create_selective_checkpoint_contexts(policy)` makes them; so `functools.partial` of it is the `context_fn`. The policy is called with each
# operator, `policy(context, op, *args, **kwargs)`, and returns `CheckpointPolicy.MUST_SAVE` or `CheckpointPolicy.PREFER_RECOMPUTE`. Below the
# modules there are only a few operators: `nn.Linear` without bias calls `torch.ops.aten.mm.default`, and attention's two matmuls are
# `torch.ops.aten.bmm.default`.
#
# *Predict:* how many FLOPs more than without checkpointing will backward have?


# %% nbgrader={"grade": false, "grade_id": "checkpoint_selective", "locked": false, "schema_version": 3, "solution": true, "task": false}
def checkpoint_selective(model):
    """Checkpoint every block of `model` in place, but keep the results of its matmuls; return it."""
    ### BEGIN SOLUTION
    kept = [torch.ops.aten.mm.default, torch.ops.aten.bmm.default]

    def policy(context, op, *args, **kwargs):
        return CheckpointPolicy.MUST_SAVE if op in kept else CheckpointPolicy.PREFER_RECOMPUTE

    contexts = functools.partial(create_selective_checkpoint_contexts, policy)
    for number, block in enumerate(model.blocks):
        model.blocks[number] = checkpoint_wrapper(block, context_fn=contexts)
    return model
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_checkpoint_selective", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
fsdp03.check_checkpoint_selective(checkpoint_selective)

# %% [markdown]
# All ways side by side: activations kept after forward, everything held at the peak, FLOPs. Backward has twice the FLOPs of forward; what is above 2 is recomputed. Recomputing everything should add 1, and
# adds less: torch stops as soon as it has what backward needs, and the result of a block's last matmul is not among that.

# %% tags=["raises-exception"]
fsdp03.measure(
    {
        "nothing": lambda model: model,
        "every third block": lambda model: checkpoint_blocks(model, 3),
        "selective": checkpoint_selective,
        "every block": lambda model: checkpoint_blocks(model, 1),
        "the whole model": lambda model: checkpoint_wrapper(model),
    }
)

# %% [markdown]
# The whole model as one region keeps next to nothing after forward, and saves nothing: backward recomputes all of it at once, and then holds it
# all.
#
# FLOPs are not time: what selective checkpointing recomputes is no matmul, counts as no FLOP here, and yet has to be read from memory and
# written again.
#
# ## Step 11 · Predict the activations of a deep model · 4 points
#
# All blocks are alike. So the bytes of any depth follow from three small models: with one block, with two, and with one that is
# checkpointed. What the embedding, the last norm, the head and the loss keep is there once.


# %% nbgrader={"grade": false, "grade_id": "predict_activation_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_activation_bytes(one_block, two_blocks, one_checkpointed, num_blocks, num_checkpointed):
    """Return the activation bytes of `num_blocks` blocks, `num_checkpointed` of them checkpointed.

    The first three are measured: with one block, with two, and with one checkpointed block.
    """
    ### BEGIN SOLUTION
    block = two_blocks - one_block
    saved = one_block - one_checkpointed
    return one_block + (num_blocks - 1) * block - num_checkpointed * saved
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_predict_activation_bytes", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
fsdp03.check_predict_activation_bytes(predict_activation_bytes)

# %% [markdown]
# ## Step 12 · Choose · 6 points
#
# A policy can be chosen for each block by itself. Each has a price in FLOPs and leaves a number of bytes; the memory that is left over is the budget. You want the
# cheapest choice that fits. Blocks are alike, so it only matters how many have which policy: with p policies and n blocks
# there are few enough choices to try them all.
#
# *Predict:* is it ever right to mix policies?


# %% nbgrader={"grade": false, "grade_id": "choose_policies", "locked": false, "schema_version": 3, "solution": true, "task": false}
def choose_policies(policies, num_blocks, rest_bytes, budget_bytes):
    """Return a list of `num_blocks` names of policies that fit and recompute least; None if none fits.

    `policies` holds by name (bytes that a block keeps, FLOPs that it recomputes). `rest_bytes` are
    kept outside the blocks. Both together are at most `budget_bytes`.
    """

    ### BEGIN SOLUTION
    def sums(names):
        return [sum(policies[name][part] for name in names) for part in (0, 1)]

    choices = itertools.combinations_with_replacement(policies, num_blocks)
    fitting = [names for names in choices if rest_bytes + sums(names)[0] <= budget_bytes]
    return list(min(fitting, key=lambda names: sums(names)[1])) if fitting else None
    ### END SOLUTION


# %% tags=["raises-exception"] nbgrader={"grade": true, "grade_id": "check_choose_policies", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
fsdp03.check_choose_policies(choose_policies)

# %% [markdown]
# Your chooser with the measured prices of the toy's block at length 64. "Keep projections" saves the results of `mm` and recomputes attention.

# %% tags=["raises-exception"]
policies = fsdp03.measure_policies(seq_len=64)
for name, (num_bytes, flops) in policies.items():
    print(f"{name:18}{num_bytes:>9,} bytes per block {flops:>11,} FLOPs recomputed")
for budget_bytes in (1_850_000, 1_250_000, 900_000, 450_000, 150_000, 50_000):
    names = choose_policies(policies, 6, 70_000, budget_bytes)
    chosen = (
        [f"{names.count(name)} × {name}" for name in policies if name in names]
        if names
        else ["nothing fits"]
    )
    print(f"budget {budget_bytes:>9,}: {', '.join(chosen)}")

# %% [markdown]
# What to take along:
#
# - bf16 to compute, fp32 for the master weights and for the reduction: a third fewer bytes on the network, and nothing to scale.
# - fp16 needs a loss scaler, and all ranks must take the same decision. Unscale, then clip.
# - A norm is one number for all ranks. Where a NaN begins is found before averaging, by step, rank and layer.
# - Checkpointing trades FLOPs for bytes. How much it saves depends on depth and length: measure, predict, then choose.
