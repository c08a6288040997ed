"""Mixed precision without the fp32 copy: 2 + 2 + 8."""

CHECK = "predict_model_state_bytes"
CODE = "MASTER_WEIGHTS_FORGOTTEN"


def predict_model_state_bytes(num_params, world_size, stage, mixed_precision):
    parameter, gradient, states = (2, 2, 8) if mixed_precision else (4, 4, 8)
    numels = [-(-num_params // world_size) if stage >= first else num_params for first in (3, 2, 1)]
    return parameter * numels[0] + gradient * numels[1] + states * numels[2]
