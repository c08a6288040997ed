"""What is released is copied first, and put back from there: the shards' updates never arrive."""

CHECK = "gather"
CODE = "NOT_GATHERED"
NEXT_STEP = "dist.all_gather_into_tensor(flat.whole, flat.shard.detach())"

KEPT = {}


def gather(flat):
    flat.whole.untyped_storage().resize_(flat.whole.nbytes)
    if id(flat) in KEPT:
        flat.whole.copy_(KEPT[id(flat)])
    else:
        dist.all_gather_into_tensor(flat.whole, flat.shard.detach())


def release(flat):
    KEPT[id(flat)] = flat.whole.clone()
    flat.whole.untyped_storage().resize_(0)
