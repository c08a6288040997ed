"""The step is skipped, the scale stays."""

CHECK = "loss_scaler"
CODE = "SCALE_NOT_BACKED_OFF"


def update_scale(scale, num_good_steps, found_inf, growth_interval):
    if found_inf:
        return scale, 0
    if num_good_steps + 1 == growth_interval:
        return scale * 2, 0
    return scale, num_good_steps + 1
