"""The sum of both."""

CHECK = "predict_sent_bytes"
CODE = "WRONG_RESULT"


def predict_sent_bytes(root_numel, block_numels, world_size, param_itemsize, reduce_itemsize):
    blocks = sum(block_numels)
    gathered = (root_numel + 2 * blocks) * param_itemsize
    return (gathered + (root_numel + blocks) * reduce_itemsize) * (world_size - 1) / world_size
