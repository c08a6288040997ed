"""When backward asks a second time, what is gathered is not the same any more."""

CHECK = "gather"
CODE = "WRONG_GRADIENT"
NEXT_STEP = "gather into the storage that release freed"


def gather(flat):
    flat.whole.untyped_storage().resize_(flat.whole.numel() * flat.whole.itemsize)
    if flat.__dict__.setdefault("count", 0) < 2:
        dist.all_gather_into_tensor(flat.whole, flat.shard.detach())
    else:
        flat.whole.zero_()
    flat.count += 1
