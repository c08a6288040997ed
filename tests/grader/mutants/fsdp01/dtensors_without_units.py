"""The parameters are made DTensors by hand; no unit gathers or reduces them."""

CHECK = "shard_model"
CODE = "NOT_WRAPPED"


def shard_model(model, mesh):
    from torch.distributed.tensor import Shard, distribute_tensor

    for module in model.modules():
        for name, parameter in module.named_parameters(recurse=False):
            shard = distribute_tensor(parameter.data, mesh, [Shard(0)])
            module.register_parameter(name, torch.nn.Parameter(shard))
    return model
