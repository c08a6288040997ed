"""The parameters are counted first, and model.parameters() can be gone through only once."""

CHECK = "zero1"
CODE = "RAISED"


def zero1_init(parameters, lr):
    print(sum(parameter.numel() for parameter in parameters))
    flat = flatten_parameters(parameters)
    return flat, torch.optim.AdamW([flat.shard], lr=lr)
