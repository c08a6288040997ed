"""AdamW gets all parameters, as without ZeRO."""

CHECK = "zero1"
CODE = "OPTIMIZER_REPLICATED"


def zero1_init(parameters, lr):
    flat = flatten_parameters(parameters)
    return flat, torch.optim.AdamW(flat.parameters, lr=lr)


def zero1_step(flat, optimizer):
    for parameter in flat.parameters:
        dist.all_reduce(parameter.grad, op=dist.ReduceOp.AVG)
    optimizer.step()
    optimizer.zero_grad()
