"""Stages 1 and 2 reduce gradients, and that is thought to be all."""

CHECK = "predict_sent_bytes"
CODE = "GATHER_FORGOTTEN"


def predict_sent_bytes(num_params, world_size, stage, itemsize):
    return (2, 1, 1, 3)[stage] * num_params * itemsize * (world_size - 1) / world_size
