"""A rank does not send what it has itself."""

CHECK = "predict_sent_bytes"
CODE = "RING_FACTOR_MISSING"


def predict_sent_bytes(root_numel, block_numels, world_size, param_itemsize, reduce_itemsize):
    blocks = sum(block_numels)
    return {
        "all_gather": (root_numel + 2 * blocks) * param_itemsize,
        "reduce_scatter": (root_numel + blocks) * reduce_itemsize,
    }
