"""The divided gradients are new tensors."""

CHECK = "loss_scaler"
CODE = "NOT_UNSCALED"


def unscale_gradients(parameters, scale):
    found_inf = torch.zeros(1)
    for weight in parameters:
        if weight.grad is not None:
            gradient = weight.grad.to_local()
            gradient = gradient / scale
            found_inf += (~gradient.isfinite()).sum()
    dist.all_reduce(found_inf)
    return found_inf.item() > 0
