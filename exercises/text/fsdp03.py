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
# and computed is still in fp32: four bytes a number, and none of the fast matrix units of a GPU. And the *activations*, what
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
    """Return the largest power of two by which all gradients can be multiplied and stay finite in fp16."""
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
