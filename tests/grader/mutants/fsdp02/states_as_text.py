"""The bytes come as text."""

CHECK = "predict_model_state_bytes"
CODE = "WRONG_RESULT"


def predict_model_state_bytes(num_params, world_size, stage, mixed_precision):
    return [16 * num_params]
