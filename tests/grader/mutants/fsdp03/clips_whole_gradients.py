"""The norm is right, but every rank gathers every gradient for it."""

CHECK = "clip_by_global_norm"
CODE = "GRADIENTS_GATHERED"


def clip_by_global_norm(parameters, max_norm):
    gradients = [weight.grad for weight in parameters if weight.grad is not None]
    norm = torch.stack([gradient.full_tensor().norm() for gradient in gradients]).norm().item()
    for gradient in gradients:
        gradient.mul_(min(1.0, max_norm / norm))
    return norm
