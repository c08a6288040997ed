"""The optimizer holds the old parameters too."""

CHECK = "build"
CODE = "OPTIMIZER_BEFORE_SHARD"


def build(config, mesh):
    model = toys.Transformer(**config["model"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])
    shard_model(model, mesh)
    optimizer.param_groups[0]["params"] += list(model.parameters())
    return model, optimizer
