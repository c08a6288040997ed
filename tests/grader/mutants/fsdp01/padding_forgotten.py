"""The plain size."""

CHECK = "padded_numel"
CODE = "PADDING_FORGOTTEN"


def padded_numel(shape, world_size):
    return torch.Size(shape).numel()
