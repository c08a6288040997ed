"""Elements instead of bytes."""

CHECK = "predict_sent_bytes"
CODE = "ITEMSIZE_FORGOTTEN"


def predict_sent_bytes(root_shapes, block_shapes, world_size, itemsize):
    all_block_shapes = [shape for shapes in block_shapes for shape in shapes]
    root = sum(padded_numel(shape, world_size) for shape in root_shapes)
    blocks = sum(padded_numel(shape, world_size) for shape in all_block_shapes)
    whole = sum(torch.Size(shape).numel() for shape in [*root_shapes, *all_block_shapes])
    ring = (world_size - 1) / world_size
    return {
        "FULL_SHARD": (2 * root + 3 * blocks) * ring,
        "SHARD_GRAD_OP": (2 * root + 2 * blocks) * ring,
        "DDP": 2 * whole * ring,
    }
