"""Every rank gathers every gradient to look for an inf."""

CHECK = "loss_scaler"
CODE = "GRADIENTS_GATHERED"


def unscale_gradients(parameters, scale):
    has_bad = False
    for weight in parameters:
        if weight.grad is not None:
            weight.grad.to_local().div_(scale)
            has_bad |= not weight.grad.full_tensor().isfinite().all().item()
    return has_bad
