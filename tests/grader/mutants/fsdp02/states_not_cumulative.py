"""Gradients are thought to be whole until stage 3."""

CHECK = "predict_model_state_bytes"
CODE = "PARTITIONED_TOO_LATE"


def predict_model_state_bytes(num_params, world_size, stage, mixed_precision):
    parameter, gradient, states = (2, 2, 12) if mixed_precision else (4, 4, 8)
    share = -(-num_params // world_size)
    if stage == 3:
        return share * (parameter + gradient + states)
    return num_params * (parameter + gradient) + states * (share if stage else num_params)
