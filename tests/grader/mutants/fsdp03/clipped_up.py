"""Short gradients are made longer."""

CHECK = "clip_by_global_norm"
CODE = "CLIPPED_UP"


def clip_by_global_norm(parameters, max_norm):
    gradients = [weight.grad.to_local() for weight in parameters if weight.grad is not None]
    square_sum = sum(gradient.square().sum() for gradient in gradients)
    dist.all_reduce(square_sum)
    norm = square_sum.sqrt().item()
    for gradient in gradients:
        gradient.mul_(max_norm / norm)
    return norm
