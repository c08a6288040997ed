"""Elements, not bytes."""

CHECK = "predict_sent_bytes"
CODE = "ITEMSIZE_FORGOTTEN"


def predict_sent_bytes(root_numel, block_numels, world_size, param_itemsize, reduce_itemsize):
    ring = (world_size - 1) / world_size
    blocks = sum(block_numels)
    return {
        "all_gather": (root_numel + 2 * blocks) * ring,
        "reduce_scatter": (root_numel + blocks) * ring,
    }
