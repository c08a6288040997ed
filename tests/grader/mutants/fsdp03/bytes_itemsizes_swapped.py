"""Gathers with the gradients' size, reduce-scatters with the weights'."""

CHECK = "predict_sent_bytes"
CODE = "ITEMSIZES_SWAPPED"


def predict_sent_bytes(root_numel, block_numels, world_size, param_itemsize, reduce_itemsize):
    ring = (world_size - 1) / world_size
    blocks = sum(block_numels)
    return {
        "all_gather": (root_numel + 2 * blocks) * reduce_itemsize * ring,
        "reduce_scatter": (root_numel + blocks) * param_itemsize * ring,
    }
