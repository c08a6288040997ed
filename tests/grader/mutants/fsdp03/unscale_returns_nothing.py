"""No return."""

CHECK = "loss_scaler"
CODE = "WRONG_RESULT"
NEXT_STEP = "it returned None: did you forget `return`?"


def unscale_gradients(parameters, scale):
    for weight in parameters:
        if weight.grad is not None:
            weight.grad.to_local().div_(scale)
