"""FSDP2 is told not to divide by world_size."""

CHECK = "shard_model"
CODE = "GRADIENTS_SUMMED"


def shard_model(model, mesh):
    for module in [*model.blocks, model]:
        fully_shard(module, mesh=mesh)
        module.set_gradient_divide_factor(1.0)
    return model
