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
# # Playground · what ranks do, and how to see it
#
# Training on many GPUs means many processes. Each one is a *rank*: it runs the same program on its own part of the data
# or of the model, and it talks to the others through *collectives* such as `all_reduce`. This notebook starts real ranks on
# this machine and shows what they send, what they hold, and whom they wait for. There is nothing to solve. It takes fifteen
# minutes; change any cell and run it again.

# %%
# %load_ext sandbox

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

import sandbox
from sandbox import Join, Kill, Lose, SlowLink, Step, toys

# %% [markdown]
# ## 1 · Ranks
#
# `sandbox.launch` calls a function on four fresh ranks. Each one is a process of its own, and knows two numbers: its rank,
# and how many there are.


# %%
def greet():
    return f"rank {dist.get_rank()} of {dist.get_world_size()}"


sandbox.launch(greet, world_size=4).results

# %% [markdown]
# A cell that begins with `%%ranks` runs on ranks too. These stay: what a cell defines, the next one finds. `rank`,
# `world_size`, `torch`, `dist` and `device` are there from the start; `device` is the rank's GPU, or the CPU. The value of the
# last line is shown, rank by rank.

# %%
# %%ranks 4
x = torch.full((2, 3), float(rank), device=device)
x

# %% [markdown]
# ## 2 · A collective
#
# `all_reduce` adds up what the ranks hold, and leaves the sum on every one of them. *Predict:* what does each rank hold
# after it?

# %%
# %%ranks
dist.all_reduce(x)
x

# %% [markdown]
# `all_gather` puts pieces together. Every rank has one; after it, every rank has all of them.

# %%
# %%ranks
pieces = torch.empty(4, device=device)
dist.all_gather_into_tensor(pieces, torch.tensor([10.0 * rank], device=device))
pieces

# %% [markdown]
# ## 3 · A deadlock, and its proof
#
# A collective is complete when *every* rank has called it. Here rank 2 forgets to. With plain torch the other three wait,
# for half an hour if need be; or, where rank 2's process has ended, they fail with "connection closed by peer", which names
# neither the rank nor the line. Here it is not a matter of patience: rank 2 has finished, so it will never call, so the
# others can never go on. That is a proof, and it takes a fraction of a second.


# %% tags=["raises-exception"]
def forget():
    total = torch.ones(5, device=sandbox.device())
    if dist.get_rank() != 2:
        dist.all_reduce(total)
    return total


sandbox.launch(forget, world_size=4)

# %% [markdown]
# A mismatch is worse, because it may not hang at all: where one rank sums and another takes the maximum, gloo returns
# numbers that are wrong, and says nothing. Here it is an error at once.


# %% tags=["raises-exception"]
def disagree():
    op = dist.ReduceOp.MAX if dist.get_rank() == 1 else dist.ReduceOp.SUM
    dist.all_reduce(torch.ones(5, device=sandbox.device()), op=op)


sandbox.launch(disagree, world_size=4)

# %% [markdown]
# ## 4 · The ledger
#
# Every run keeps a ledger: each collective of each rank, whoever called it. Here are two training steps of a small transformer
# with plain data parallelism (`DDP`): every rank holds the whole model, and the gradients are averaged.


# %%
def train(parallel, num_steps=2):
    model = toys.Transformer().to(sandbox.device())
    if parallel == "DDP":
        model = torch.nn.parallel.DistributedDataParallel(model)
    else:
        for block in model.blocks:
            fully_shard(block)
        fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(num_steps):
        tokens = toys.token_samples([4 * step + dist.get_rank()]).to(sandbox.device())
        toys.next_token_loss(model(tokens), tokens).backward()
        optimizer.step()
        optimizer.zero_grad()


ddp = sandbox.launch(train, "DDP", world_size=4)
ddp

# %% [markdown]
# In the chart, each row is a rank, and time runs to the right. Hatched is waiting: the rank computes nothing then. First DDP
# broadcasts the weights of rank 0, so that all copies are equal. Then each step averages the gradients, by an `all_reduce`
# that runs on while backward goes on computing; the strip beneath shows it.
#
# A ring all-reduce of B bytes on N ranks makes each rank send 2 B (N − 1) / N. *Predict* the bytes of two steps, then compare.

# %%
numel = sum(parameter.numel() for parameter in toys.Transformer().parameters())
print(f"predicted: {2 * (2 * 4 * numel * 3 / 4):,.0f} bytes in two steps")
print(f"measured:  {ddp.ledger.where(op='all_reduce').sent_bytes(rank=0):,.0f} bytes")

# %% [markdown]
# Now the same steps with FSDP2. Every rank holds a quarter of every weight. A block is gathered just before it runs, in
# forward and again in backward, and its gradients are reduced and scattered: three passes over the blocks, where an
# all-reduce makes two. The long grey stretch is the first optimizer step, in which torch works out once how to compute with
# sharded tensors.

# %%
fsdp = sandbox.launch(train, "FSDP2", world_size=4)
fsdp

# %% [markdown]
# The ledger is plain data. `to_pandas()` makes a table of it; `save` writes a trace for https://ui.perfetto.dev.

# %%
columns = ["rank", "op", "numel", "dtype", "nbytes", "line"]
fsdp.ledger.where(rank=0).to_pandas()[columns].head(8)

# %% [markdown]
# ## 5 · Memory
#
# What does sharding buy? `sandbox.model_states` has the formula of the ZeRO paper: with AdamW in fp32, every parameter takes
# 4 bytes, its gradient 4, and its two moments 8. DDP keeps all 16 on every rank; full sharding keeps a quarter of them on each of four.

# %%
for stage in ("DDP", "FULL_SHARD"):
    print(sandbox.model_states(numel, world_size=4, stage=stage))

# %% [markdown]
# `memory=True` has each rank count its bytes, by what they are for. The gap between formula and measurement is small, and it
# is explained. The outline is the prediction.

# %%
counted = sandbox.launch(train, "FSDP2", world_size=4, memory=True)
predicted = sandbox.model_states(numel, world_size=4, stage="FULL_SHARD")
counted.memory.compare(predicted)

# %% [markdown]
# The run itself now draws memory over time as well. Look for the peak, and for the line that reached it.

# %%
counted

# %% [markdown]
# `show_sharding` draws which rank holds which rows. 61 rows do not divide by 4: FSDP2 gives the last rank fewer.

# %%
# %%ranks 4
head = fully_shard(torch.nn.Linear(24, 61, bias=False))
sandbox.show_sharding(head)

# %% [markdown]
# ## 6 · Faults
#
# Real clusters fail. A rank dies; a link is slow. Faults make that happen on purpose, at the same place every time. Here
# rank 2 is killed when it is about to take its second step.

# %% tags=["raises-exception"]
sandbox.launch(train, "DDP", world_size=4, faults=[Kill(rank=2, at=Step(2))])

# %% [markdown]
# `launch_elastic` does not give up: it starts all ranks anew, as torchrun and Ray Train do. Here the place of rank 2 is lost,
# and later one comes back. Each start is a generation, in which `train` begins from its first step again. To go on where it
# stopped, it would have to save checkpoints.

# %%
changes = {0: [Lose(rank=2, at=Step(2))], 1: [Join(num_ranks=1, at=Step(2))]}
sandbox.launch_elastic(train, "DDP", world_size=(2, 4), faults=changes)

# %% [markdown]
# And here the links carry 1 MB per second, as if the ranks were far apart. What a rank sends then takes a time that you can
# predict: bytes divided by bandwidth. The chart shows the price: ranks that wait. (Slow links are for gloo, on the CPU.)

# %%
faults = [SlowLink(bandwidth=1e6)]
for parallel, fast in (("DDP", ddp), ("FSDP2", fsdp)):
    slow = sandbox.launch(train, parallel, world_size=4, faults=faults, backend="gloo")
    sent = fast.ledger.sent_bytes(rank=0)
    print(f"{parallel}: {sent:,.0f} bytes, at least {sent / 1e6:.2f} s on the link;")
    print(f"    {fast.duration_s:.2f} s as it was, {slow.duration_s:.2f} s with slow links")
slow

# %% [markdown]
# ## 7 · What next
#
# You have seen ranks, collectives, a proof, a ledger, memory and faults. In `fsdp01` you shard a model yourself, and every
# answer is checked on ranks like these.
