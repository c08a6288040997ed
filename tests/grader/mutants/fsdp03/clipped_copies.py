"""The clipped gradients are new tensors."""

CHECK = "clip_by_global_norm"
CODE = "NOT_CLIPPED"
NEXT_STEP = "change the gradients themselves, in place: gradient.mul_(…)"


def clip_by_global_norm(parameters, max_norm):
    gradients = [weight.grad.to_local() for weight in parameters if weight.grad is not None]
    square_sum = sum(gradient.square().sum() for gradient in gradients)
    dist.all_reduce(square_sum)
    norm = square_sum.sqrt().item()
    for gradient in gradients:
        gradient = gradient * min(1.0, max_norm / norm)
    return norm
