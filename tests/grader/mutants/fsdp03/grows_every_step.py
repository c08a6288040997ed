"""The count goes on after a doubling."""

CHECK = "loss_scaler"
CODE = "GOOD_STEPS_NOT_RESET"


def update_scale(scale, num_good_steps, found_inf, growth_interval):
    if found_inf:
        return scale / 2, 0
    num_good_steps += 1
    return (scale * 2 if num_good_steps >= growth_interval else scale), num_good_steps
