"""dist.reduce tells rank 0 alone."""

CHECK = "loss_scaler"
CODE = "DIVERGENT_DECISION"


def unscale_gradients(parameters, scale):
    found_inf = torch.zeros(1)
    for weight in parameters:
        if weight.grad is not None:
            gradient = weight.grad.to_local()
            gradient.div_(scale)
            found_inf += (~gradient.isfinite()).sum()
    dist.reduce(found_inf, 0)
    return found_inf.item() > 0
