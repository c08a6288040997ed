"""The whole model is one flat tensor."""

CHECK = "zero3"
CODE = "UNIT_TOO_LARGE"


def zero3_init(model, lr):
    kinds = [[p for p in model.parameters() if p.requires_grad is kind] for kind in (True, False)]
    flats = [shard_parameters(kind) for kind in kinds if kind]
    attach(model, flats, [[] for _ in model.blocks])
    return flats, torch.optim.AdamW([f.shard for f in flats if f.shard.requires_grad], lr=lr)
