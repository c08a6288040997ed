"""AdamW gets the whole flat tensor."""

CHECK = "zero1"
CODE = "OPTIMIZER_REPLICATED"


def zero1_init(parameters, lr):
    flat = flatten_parameters(parameters)
    return flat, torch.optim.AdamW([nn.Parameter(flat.whole)], lr=lr)
