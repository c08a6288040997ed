"""Divided by world_size as well."""

CHECK = "loss_scaler"
CODE = "UNSCALED_WRONG"


def unscale_gradients(parameters, scale):
    found_inf = torch.zeros(1)
    for weight in parameters:
        if weight.grad is not None:
            gradient = weight.grad.to_local()
            gradient.div_(scale * dist.get_world_size())
            found_inf += (~gradient.isfinite()).sum()
    dist.all_reduce(found_inf)
    return found_inf.item() > 0
