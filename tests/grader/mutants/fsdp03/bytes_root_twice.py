"""The root stays whole from forward to backward."""

CHECK = "predict_sent_bytes"
CODE = "ROOT_GATHERED_TWICE"


def predict_sent_bytes(root_numel, block_numels, world_size, param_itemsize, reduce_itemsize):
    numel = (root_numel + sum(block_numels)) * (world_size - 1) / world_size
    return {"all_gather": 2 * numel * param_itemsize, "reduce_scatter": numel * reduce_itemsize}
