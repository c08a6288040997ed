"""The flat tensor is filled with ones, and only then overwritten."""

CHECK = "partition"
CODE = "PADDING_NOT_ZERO"


def flatten(tensors, world_size):
    numel = sum(tensor.numel() for tensor in tensors)
    flat = torch.ones(numel + -numel % world_size, dtype=tensors[0].dtype)
    start = 0
    for tensor in tensors:
        flat[start : start + tensor.numel()] = tensor.reshape(-1)
        start += tensor.numel()
    return flat
