"""torch clips right, but what is returned is the norm of this rank's part of the DTensors."""

CHECK = "clip_by_global_norm"
CODE = "LOCAL_GRAD_NORM"
NEXT_STEP = "all_reduce the sum of squares of this rank's part; then the root"


def clip_by_global_norm(parameters, max_norm):
    parameters = list(parameters)
    local = [weight.grad.to_local().norm() for weight in parameters if weight.grad is not None]
    torch.nn.utils.clip_grad_norm_(parameters, max_norm)
    return torch.stack(local).norm().item()
