"""Stage 3 gathers once."""

CHECK = "predict_sent_bytes"
CODE = "BACKWARD_GATHER_FORGOTTEN"


def predict_sent_bytes(num_params, world_size, stage, itemsize):
    return 2 * num_params * itemsize * (world_size - 1) / world_size
