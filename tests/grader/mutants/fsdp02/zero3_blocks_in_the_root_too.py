"""The root takes all parameters, and the blocks their own once more."""

CHECK = "zero3"
CODE = "PARAMETERS_LOST"


def zero3_init(model, lr):
    blocks = [[shard_parameters(block.parameters())] for block in model.blocks]
    root = [shard_parameters(model.parameters())]
    attach(model, root, blocks)
    flats = sum(blocks, root)
    return flats, torch.optim.AdamW([flat.shard for flat in flats], lr=lr)
