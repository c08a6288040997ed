"""build shards by itself, all in one unit."""

CHECK = "build"
CODE = "ROOT_ONLY_WRAP"


def build(config, mesh):
    model = fully_shard(toys.Transformer(**config["model"]), mesh=mesh)
    return model, torch.optim.AdamW(model.parameters(), lr=config["lr"])
