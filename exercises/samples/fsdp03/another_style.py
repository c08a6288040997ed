"""Right, in another style: NumPy's fp16, torch's clipping, torch.utils.checkpoint itself."""


def num_underflows(gradients, scale):
    lifted = gradients.numpy() * scale
    return int(((lifted.astype("float16") == 0) & (lifted != 0)).sum())


def unscale_gradients(parameters, scale):
    num_bad = torch.zeros(1)
    for weight in parameters:
        if weight.grad is not None:
            weight.grad = weight.grad / scale
            num_bad += (~weight.grad.to_local().isfinite()).sum()
    dist.all_reduce(num_bad)
    return num_bad.item() > 0


def clip_by_global_norm(parameters, max_norm):
    return torch.nn.utils.clip_grad_norm_(parameters, max_norm).full_tensor().item()


def checkpoint_blocks(model, every):
    from torch.utils.checkpoint import checkpoint

    for block in list(model.blocks)[::every]:
        block.forward = functools.partial(checkpoint, block.forward, use_reentrant=False)
    return model
