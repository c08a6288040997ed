"""torch's own helpers: the norm of DTensors, foreach, the kernel of GradScaler."""


def unscale_gradients(parameters, scale):
    gradients = [weight.grad for weight in parameters if weight.grad is not None]
    local = [gradient.to_local() for gradient in gradients]
    found_inf = torch.zeros(1)
    torch._amp_foreach_non_finite_check_and_unscale_(local, found_inf, torch.tensor(1 / scale))
    dist.all_reduce(found_inf)
    return found_inf > 0


def update_scale(scale, num_good_steps, found_inf, growth_interval):
    held = torch.tensor(scale), torch.tensor(num_good_steps, dtype=torch.int32)
    torch._amp_update_scale_(*held, torch.tensor(float(found_inf)), 2.0, 0.5, growth_interval)
    return held[0].item(), held[1].item()


def clip_by_global_norm(parameters, max_norm):
    norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm)
    return norm.full_tensor().item()
