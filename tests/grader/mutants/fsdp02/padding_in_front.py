"""The zeros stand in front."""

CHECK = "partition"
CODE = "WRONG_ORDER"


def flatten(tensors, world_size):
    flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
    return nn.functional.pad(flat, (-flat.numel() % world_size, 0))
