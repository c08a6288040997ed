"""An inf is found, a NaN is not."""

CHECK = "loss_scaler"
CODE = "NONFINITE_MISSED"


def unscale_gradients(parameters, scale):
    found_inf = torch.zeros(1)
    for weight in parameters:
        if weight.grad is not None:
            gradient = weight.grad.to_local()
            gradient.div_(scale)
            found_inf += gradient.isinf().sum()
    dist.all_reduce(found_inf)
    return found_inf.item() > 0
