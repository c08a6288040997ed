"""The learning rate of the config is not used."""

CHECK = "build"
CODE = "WRONG_OPTIMIZER"


def build(config, mesh):
    model = shard_model(toys.Transformer(**config["model"]), mesh)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3)
