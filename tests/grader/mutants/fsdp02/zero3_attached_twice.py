"""The hooks are attached twice, so that everything is gathered and reduced twice."""

CHECK = "zero3"
CODE = "RAISED"


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
    attach(model, root, blocks)
    return flats, torch.optim.AdamW([f.shard for f in flats if f.shard.requires_grad], lr=lr)
