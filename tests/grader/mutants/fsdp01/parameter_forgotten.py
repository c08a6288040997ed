"""A parameter of the def line is gone."""

CHECK = "shard_model"
CODE = "WRONG_SIGNATURE"


def shard_model(model):
    return fully_shard(model)
