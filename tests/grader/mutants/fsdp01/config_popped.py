"""What is taken out of config is gone."""

CHECK = "build"
CODE = "CONFIG_CHANGED"


def build(config, mesh):
    model = shard_model(toys.Transformer(**config.pop("model")), mesh)
    return model, torch.optim.AdamW(model.parameters(), lr=config.pop("lr"))
