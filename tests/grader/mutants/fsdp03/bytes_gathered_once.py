"""Blocks are gathered in backward too."""

CHECK = "predict_sent_bytes"
CODE = "BACKWARD_GATHER_FORGOTTEN"


def predict_sent_bytes(root_numel, block_numels, world_size, param_itemsize, reduce_itemsize):
    numel = (root_numel + sum(block_numels)) * (world_size - 1) / world_size
    return {"all_gather": numel * param_itemsize, "reduce_scatter": numel * reduce_itemsize}
