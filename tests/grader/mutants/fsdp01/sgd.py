"""SGD instead of AdamW."""

CHECK = "build"
CODE = "WRONG_OPTIMIZER"


def build(config, mesh):
    model = shard_model(toys.Transformer(**config["model"]), mesh)
    return model, torch.optim.SGD(model.parameters(), lr=config["lr"])
