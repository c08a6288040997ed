"""Only the scale is returned."""

CHECK = "loss_scaler"
CODE = "WRONG_RESULT"


def update_scale(scale, num_good_steps, found_inf, growth_interval):
    return scale / 2 if found_inf else scale
