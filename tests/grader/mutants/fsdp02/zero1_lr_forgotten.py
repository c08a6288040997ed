"""The learning rate is left at AdamW's default."""

CHECK = "zero1"
CODE = "WRONG_OPTIMIZER"
NEXT_STEP = "use torch.optim.AdamW with this lr"


def zero1_init(parameters, lr):
    flat = flatten_parameters(parameters)
    return flat, torch.optim.AdamW([flat.shard])
