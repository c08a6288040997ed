"""Each parameter gets an empty tensor; autograd still holds views of the old ones."""

CHECK = "gather"
CODE = "PARAMETERS_NOT_RELEASED"


def gather(flat):
    flat.whole = torch.empty(flat.whole.numel(), dtype=flat.shard.dtype)
    dist.all_gather_into_tensor(flat.whole, flat.shard.detach())
    shapes = flat.__dict__.setdefault("shapes", [p.shape for p in flat.parameters])
    for parameter, view in zip(flat.parameters, unflatten(flat.whole, shapes), strict=True):
        parameter.data = view


def release(flat):
    for parameter in flat.parameters:
        parameter.data = torch.empty(0, dtype=parameter.dtype)
    numel = flat.whole.numel()
    flat.whole = torch.empty(1, dtype=flat.shard.dtype).expand(numel)
