"""Each rank's own norm."""

CHECK = "clip_by_global_norm"
CODE = "LOCAL_GRAD_NORM"
NEXT_STEP = "all_reduce the sum of squares of this rank's part; then the root"


def clip_by_global_norm(parameters, max_norm):
    gradients = [weight.grad.to_local() for weight in parameters if weight.grad is not None]
    norm = torch.stack([gradient.norm() for gradient in gradients]).norm().item()
    for gradient in gradients:
        gradient.mul_(min(1.0, max_norm / norm))
    return norm
