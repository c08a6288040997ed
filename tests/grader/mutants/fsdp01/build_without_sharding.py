"""build does not shard."""

CHECK = "build"
CODE = "NOT_WRAPPED"


def build(config, mesh):
    model = toys.Transformer(**config["model"])
    return model, torch.optim.AdamW(model.parameters(), lr=config["lr"])
