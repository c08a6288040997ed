"""Norms are added, not their squares."""

CHECK = "clip_by_global_norm"
CODE = "WRONG_GRAD_NORM"
NEXT_STEP = "add up squares over all gradients and ranks; the root comes last"


def clip_by_global_norm(parameters, max_norm):
    gradients = [weight.grad.to_local() for weight in parameters if weight.grad is not None]
    norm = torch.stack([gradient.norm() for gradient in gradients]).norm()
    dist.all_reduce(norm)
    for gradient in gradients:
        gradient.mul_(min(1.0, max_norm / norm.item()))
    return norm.item()
