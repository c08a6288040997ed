"""One good step too many."""

CHECK = "loss_scaler"
CODE = "WRONG_SCALE"


def update_scale(scale, num_good_steps, found_inf, growth_interval):
    if found_inf:
        return scale / 2, 0
    if num_good_steps == growth_interval:
        return scale * 2, 0
    return scale, num_good_steps + 1
