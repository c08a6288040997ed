"""The shards are gathered into a new tensor; the parameters stay without memory."""

CHECK = "gather"
CODE = "NOT_GATHERED"
NEXT_STEP = "give whole.untyped_storage() its bytes back"


def gather(flat):
    flat.whole = torch.empty(flat.whole.numel(), dtype=flat.shard.dtype)
    dist.all_gather_into_tensor(flat.whole, flat.shard.detach())
