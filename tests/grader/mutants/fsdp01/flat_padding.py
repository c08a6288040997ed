"""The elements are padded, not the rows: FSDP1's way."""

CHECK = "padded_numel"
CODE = "FLAT_PADDING"


def padded_numel(shape, world_size):
    return -(-torch.Size(shape).numel() // world_size) * world_size
