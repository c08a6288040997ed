"""The sum of squares is kept in float32, whatever the gradients are."""

CHECK = "clip_by_global_norm"
CODE = "LOW_PRECISION"
NEXT_STEP = "no new torch.zeros(1)"


def clip_by_global_norm(parameters, max_norm):
    gradients = [weight.grad.to_local() for weight in parameters if weight.grad is not None]
    square_sum = torch.zeros(1)
    for gradient in gradients:
        square_sum += gradient.square().sum()
    dist.all_reduce(square_sum)
    norm = square_sum.sqrt().item()
    for gradient in gradients:
        gradient.mul_(min(1.0, max_norm / norm))
    return norm
