"""The loop's model has the right sizes, and weights from the default seed."""

CHECK = "train_loop"
CODE = "WRONG_MODEL"
NEXT_STEP = 'its "seed" decides what the weights start as'


def build(config, mesh):
    options = {name: value for name, value in config["model"].items() if name != "seed"}
    model = shard_model(toys.Transformer(**options), mesh)
    return model, torch.optim.AdamW(model.parameters(), lr=config["lr"])
