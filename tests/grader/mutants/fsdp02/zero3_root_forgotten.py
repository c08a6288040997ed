"""What is in no block is not sharded."""

CHECK = "zero3"
CODE = "PARAMETERS_LOST"


def zero3_init(model, lr):
    blocks = [
        [
            shard_parameters([p for p in block.parameters() if p.requires_grad is kind])
            for kind in (True, False)
            if any(p.requires_grad is kind for p in block.parameters())
        ]
        for block in model.blocks
    ]
    attach(model, [], blocks)
    flats = [flat for flats in blocks for flat in flats]
    return flats, torch.optim.AdamW([f.shard for f in flats if f.shard.requires_grad], lr=lr)
