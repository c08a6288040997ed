"""Each rank decides by its own rows."""

CHECK = "loss_scaler"
CODE = "DIVERGENT_DECISION"


def unscale_gradients(parameters, scale):
    gradients = [weight.grad.to_local() for weight in parameters if weight.grad is not None]
    for gradient in gradients:
        gradient.div_(scale)
    return not all(gradient.isfinite().all() for gradient in gradients)
