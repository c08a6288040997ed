"""The same by other means: nextafter, a search, NumPy's float16."""


def lost_updates(weights, updates, dtype):
    moved = weights.to(dtype, copy=True)
    moved += updates.to(dtype)
    return torch.count_nonzero(updates).item() - torch.count_nonzero(moved != weights.to(dtype))


def num_underflows(gradients, scale):
    lifted = gradients.numpy() * scale
    return int(((lifted.astype("float16") == 0) & (lifted != 0)).sum())


def largest_scale(gradients):
    scale = 2.0**-40
    while (2 * scale * gradients).half().isfinite().all():
        scale *= 2
    return scale


def first_nonfinite(records):
    by_step = {}
    for step, rank, layer, norm in records:
        if norm != norm or norm in (math.inf, -math.inf):
            by_step.setdefault(step, [step, rank, layer])
    return by_step[sorted(by_step)[0]]
