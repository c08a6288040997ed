"""A block's frozen parameter lies among the trained ones."""

CHECK = "zero3"
CODE = "FROZEN_WITH_TRAINED"


def zero3_init(model, lr):
    in_blocks = set(model.blocks.parameters())
    root = [shard_parameters([p for p in model.parameters() if p not in in_blocks])]
    blocks = [[shard_parameters(list(block.parameters()))] for block in model.blocks]
    attach(model, root, blocks)
    flats = sum(blocks, root)
    return flats, torch.optim.AdamW([flat.shard for flat in flats], lr=lr)
