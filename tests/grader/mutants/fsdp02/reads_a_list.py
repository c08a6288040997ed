"""A list instead of a dict."""

CHECK = "read_parameters"
CODE = "WRONG_RESULT"


def read_parameters(model):
    with deepspeed.zero.GatheredParameters(list(model.parameters())):
        return [weight.detach().clone() for weight in model.parameters()]
