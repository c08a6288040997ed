"""The optimizer is created before the parameters are replaced."""

CHECK = "build"
CODE = "OPTIMIZER_BEFORE_SHARD"


def build(config, mesh):
    model = toys.Transformer(**config["model"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])
    return shard_model(model, mesh), optimizer
