"""An all-reduce before every forward, to be on the safe side."""

CHECK = "shard_model"
CODE = "WRONG_COLLECTIVES"


def shard_model(model, mesh):
    for module in [*model.blocks, model]:
        fully_shard(module, mesh=mesh)
    model.register_forward_pre_hook(lambda *_: dist.all_reduce(torch.zeros(1)))
    return model
