"""The count goes on after an overflow."""

CHECK = "loss_scaler"
CODE = "GOOD_STEPS_NOT_RESET"


def update_scale(scale, num_good_steps, found_inf, growth_interval):
    if found_inf:
        return scale / 2, num_good_steps
    if num_good_steps + 1 >= growth_interval:
        return scale * 2, 0
    return scale, num_good_steps + 1
