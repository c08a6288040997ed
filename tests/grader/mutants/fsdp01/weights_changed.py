"""The model is initialized again, with a seed per rank."""

CHECK = "shard_model"
CODE = "SHARDED_STATE_CORRUPT"


def shard_model(model, mesh):
    for module in [*model.blocks, model]:
        fully_shard(module, mesh=mesh)
    torch.manual_seed(dist.get_rank())
    for weight in model.parameters():
        torch.nn.init.normal_(weight.to_local())
    return model
