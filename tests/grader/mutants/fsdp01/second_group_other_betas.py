"""A second parameter group has betas of its own."""

CHECK = "build"
CODE = "WRONG_OPTIMIZER"


def build(config, mesh):
    model = shard_model(toys.Transformer(**config["model"]), mesh)
    first, *rest = model.parameters()
    groups = [{"params": [first]}, {"params": rest, "betas": (0.8, 0.9)}]
    return model, torch.optim.AdamW(groups, lr=config["lr"])
