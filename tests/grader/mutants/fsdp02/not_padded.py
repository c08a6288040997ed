"""Nothing is appended, so that 10 elements stay 10 on 4 ranks."""

CHECK = "partition"
CODE = "NOT_PADDED"


def flatten(tensors, world_size):
    return torch.cat([tensor.reshape(-1) for tensor in tensors])
