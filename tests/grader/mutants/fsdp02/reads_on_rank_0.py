"""Only rank 0 gathers."""

CHECK = "read_parameters"
CODE = "COLLECTIVE_ORDER_OR_SHAPE_MISMATCH"


def read_parameters(model):
    if dist.get_rank() != 0:
        return {name: weight.detach().clone() for name, weight in model.named_parameters()}
    with deepspeed.zero.GatheredParameters(list(model.parameters())):
        return {name: weight.detach().clone() for name, weight in model.named_parameters()}
