"""The same by gathering: every rank's flag, every rank's sum of squares."""


def unscale_gradients(parameters, scale):
    has_bad = False
    for weight in parameters:
        if weight.grad is None:
            continue
        weight.grad = weight.grad / scale
        has_bad |= bool((weight.grad.to_local() - weight.grad.to_local()).any())
    flags = [None] * dist.get_world_size()
    dist.all_gather_object(flags, has_bad)
    return any(flags)


def update_scale(scale, num_good_steps, found_inf, growth_interval):
    num_good_steps = 0 if found_inf else num_good_steps + 1
    if num_good_steps == growth_interval:
        scale, num_good_steps = 2.0 * scale, 0
    return [0.5 * scale if found_inf else scale, num_good_steps]


def clip_by_global_norm(parameters, max_norm):
    trained = [weight for weight in parameters if weight.grad is not None]
    squares = [(weight.grad.to_local() ** 2).sum().item() for weight in trained]
    sums = [None] * dist.get_world_size()
    dist.all_gather_object(sums, math.fsum(squares))
    norm = math.sqrt(math.fsum(sums))
    if norm > max_norm:
        for weight in trained:
            weight.grad = weight.grad * (max_norm / norm)
    return norm
