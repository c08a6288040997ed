"""The zeros are float32, and make all of it float32."""

CHECK = "partition"
CODE = "WRONG_RESULT"


def flatten(tensors, world_size):
    flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
    return torch.cat([flat, torch.zeros(-flat.numel() % world_size)])
