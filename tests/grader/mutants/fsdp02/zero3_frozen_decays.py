"""The frozen shards shrink after every step."""

CHECK = "zero3"
CODE = "FROZEN_CHANGED"


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
    optimizer = torch.optim.AdamW([f.shard for f in flats if f.shard.requires_grad], lr=lr)

    def decay(*_):
        with torch.no_grad():
            for flat in flats:
                if not flat.shard.requires_grad:
                    flat.shard.mul_(1 - 0.01 * lr)

    optimizer.register_step_post_hook(decay)
    return flats, optimizer
