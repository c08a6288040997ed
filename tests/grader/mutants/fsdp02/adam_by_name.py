"""Adam, whose weight decay is another one."""

CHECK = "zero1"
CODE = "WRONG_OPTIMIZER"
NEXT_STEP = "use torch.optim.AdamW with this lr"


def zero1_init(parameters, lr):
    flat = flatten_parameters(parameters)
    return flat, torch.optim.Adam([flat.shard], lr=lr)
