"""AdamW gets the frozen shards as well."""

CHECK = "zero3"
CODE = "OPTIMIZER_WITHOUT_SHARDS"


def zero3_init(model, lr):
    def shard(parameters):
        parameters = list(parameters)
        kinds = [[p for p in parameters if p.requires_grad is kind] for kind in (True, False)]
        return [shard_parameters(kind) for kind in kinds if kind]

    in_blocks = set(model.blocks.parameters())
    root = shard(p for p in model.parameters() if p not in in_blocks)
    blocks = [shard(block.parameters()) for block in model.blocks]
    attach(model, root, blocks)
    flats = sum(blocks, root)
    return flats, torch.optim.AdamW([flat.shard for flat in flats], lr=lr)
