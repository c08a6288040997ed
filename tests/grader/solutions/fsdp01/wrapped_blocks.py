"""Blocks in a checkpoint_wrapper; Adam with a decoupled decay; the root resharded too."""


def shard_model(model, mesh):
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

    for number, block in enumerate(model.blocks):
        model.blocks[number] = fully_shard(checkpoint_wrapper(block), mesh=mesh)
    return fully_shard(model, mesh=mesh, reshard_after_forward=True)


def build(config, mesh):
    model = toys.Transformer(**config["model"])
    for module in [*model.blocks, model]:
        fully_shard(module, mesh=mesh)
    groups = [{"params": [weight]} for weight in model.parameters()]
    options = {"weight_decay": 0.01, "decoupled_weight_decay": True}
    return model, torch.optim.Adam(groups, lr=config["lr"], **options)
