"""Each tensor is padded, then all are laid end to end."""

CHECK = "partition"
CODE = "PADDED_EACH"


def flatten(tensors, world_size):
    padded = [nn.functional.pad(t.flatten(), (0, -t.numel() % world_size)) for t in tensors]
    return torch.cat(padded)
