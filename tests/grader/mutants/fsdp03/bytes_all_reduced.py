"""Gradients counted as an all-reduce."""

CHECK = "predict_sent_bytes"
CODE = "ESTIMATE_WRONG"


def predict_sent_bytes(root_numel, block_numels, world_size, param_itemsize, reduce_itemsize):
    ring = (world_size - 1) / world_size
    blocks = sum(block_numels)
    return {
        "all_gather": (root_numel + 2 * blocks) * param_itemsize * ring,
        "reduce_scatter": 2 * (root_numel + blocks) * reduce_itemsize * ring,
    }
