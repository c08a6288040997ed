"""Where the length divides already, a whole row of padding is added."""

CHECK = "partition"
CODE = "PADDED_TOO_MUCH"


def flatten(tensors, world_size):
    flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
    return nn.functional.pad(flat, (0, world_size - flat.numel() % world_size))
