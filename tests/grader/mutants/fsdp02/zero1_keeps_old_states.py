"""Beside the shard's, moments of all parameters are made: an AdamW that never steps with them."""

CHECK = "zero1"
CODE = "OPTIMIZER_REPLICATED"


def zero1_init(parameters, lr):
    parameters = list(parameters)
    flat = flatten_parameters(parameters)
    flat.old = torch.optim.AdamW([nn.Parameter(flat.whole.clone())], lr=0.0)
    [whole] = flat.old.param_groups[0]["params"]
    whole.grad = torch.zeros_like(whole)
    flat.old.step()
    whole.grad = None
    return flat, torch.optim.AdamW([flat.shard], lr=lr)
