"""The storage gets its bytes back, and nothing is gathered into it."""

CHECK = "gather"
CODE = "NOT_GATHERED"
NEXT_STEP = "dist.all_gather_into_tensor(flat.whole, flat.shard.detach())"


def gather(flat):
    flat.whole.untyped_storage().resize_(flat.whole.numel() * flat.whole.itemsize)
    flat.whole.zero_()
    partition(flat.whole, dist.get_rank(), dist.get_world_size()).copy_(flat.shard.detach())
