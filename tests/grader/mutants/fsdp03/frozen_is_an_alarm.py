"""A parameter without a gradient is taken for an overflow."""

CHECK = "loss_scaler"
CODE = "FALSE_ALARM"


def unscale_gradients(parameters, scale):
    found_inf = torch.zeros(1)
    for weight in parameters:
        if weight.grad is None:
            found_inf += 1
            continue
        gradient = weight.grad.to_local()
        gradient.div_(scale)
        found_inf += (~gradient.isfinite()).sum()
    dist.all_reduce(found_inf)
    return found_inf.item() > 0
