"""Read as from any model."""

CHECK = "read_parameters"
CODE = "SIZE0_WEIGHTS"


def read_parameters(model):
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}
