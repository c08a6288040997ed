"""Tensors that say of themselves that they are sharded, with everything behind them."""

CHECK = "shard_model"
CODE = "NOT_WRAPPED"


def shard_model(model, mesh):
    from torch.distributed.tensor import Shard

    class Faked(torch.nn.Parameter):
        device_mesh = mesh
        placements = (Shard(0),)

        def to_local(self):
            return self.data.chunk(dist.get_world_size())[dist.get_rank()]

    for module in model.modules():
        for name, weight in module.named_parameters(recurse=False):
            module.register_parameter(name, Faked(weight.data))
    return model
