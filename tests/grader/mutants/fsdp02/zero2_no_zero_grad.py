"""The shards' gradients are kept over the step."""

CHECK = "zero2"
CODE = "GRADIENTS_ACCUMULATED"
NEXT_STEP = "after each step"


def zero2_step(buckets, optimizer):
    optimizer.step()
    for flat in buckets:
        dist.all_gather_into_tensor(flat.whole, flat.shard.detach())
