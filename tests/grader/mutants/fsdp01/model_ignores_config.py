"""Always the same model, whatever config says."""

CHECK = "build"
CODE = "WRONG_MODEL"


def build(config, mesh):
    model = shard_model(toys.Transformer(), mesh)
    return model, torch.optim.AdamW(model.parameters(), lr=config["lr"])
