"""The parameters themselves are returned, and are empty, or change, after the context."""

CHECK = "read_parameters"
CODE = "NOT_COPIED"
NEXT_STEP = "clone each weight inside the context"


def read_parameters(model):
    with deepspeed.zero.GatheredParameters(list(model.parameters())):
        return dict(model.named_parameters())
