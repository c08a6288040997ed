"""The root's flat parameters are trained, but missing from what is returned."""

CHECK = "zero3"
CODE = "PARAMETERS_LOST"


def zero3_init(model, lr):
    in_blocks = set(model.blocks.parameters())
    root = shard_parameters(p for p in model.parameters() if p not in in_blocks)
    blocks = [shard_parameters(block.parameters()) for block in model.blocks]
    attach(model, [root], [[flat] for flat in blocks])
    return blocks, torch.optim.AdamW([flat.shard for flat in [root, *blocks]], lr=lr)
