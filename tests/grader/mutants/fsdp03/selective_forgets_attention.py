"""aten.bmm, attention's two matmuls, is recomputed."""

CHECK = "checkpoint_selective"
CODE = "MATMULS_RECOMPUTED"


def checkpoint_selective(model):
    contexts = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    for number, block in enumerate(model.blocks):
        model.blocks[number] = checkpoint_wrapper(block, context_fn=contexts)
    return model
