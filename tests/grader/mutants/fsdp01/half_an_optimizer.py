"""The optimizer holds the matrices alone."""

CHECK = "build"
CODE = "OPTIMIZER_INCOMPLETE"


def build(config, mesh):
    model = shard_model(toys.Transformer(**config["model"]), mesh)
    matrices = [weight for weight in model.parameters() if weight.ndim == 2]
    return model, torch.optim.AdamW(matrices, lr=config["lr"])
