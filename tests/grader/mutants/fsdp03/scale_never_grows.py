"""Once small, always small."""

CHECK = "loss_scaler"
CODE = "SCALE_NEVER_GROWS"


def update_scale(scale, num_good_steps, found_inf, growth_interval):
    return (scale / 2, 0) if found_inf else (scale, num_good_steps + 1)
