"""FSDP2 is told to divide the gradients by 1."""

CHECK = "shard_model"
CODE = "GRADIENTS_SUMMED"


def shard_model(model, mesh):
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    for unit in [*model.blocks, model]:
        unit.set_gradient_divide_factor(1.0)
    return model
