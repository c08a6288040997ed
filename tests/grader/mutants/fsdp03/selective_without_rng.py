"""Dropout draws other numbers the second time."""

CHECK = "checkpoint_selective"
CODE = "RECOMPUTE_MISMATCH"


def checkpoint_selective(model):
    kept = [torch.ops.aten.mm.default, torch.ops.aten.bmm.default]
    contexts = functools.partial(create_selective_checkpoint_contexts, kept)
    for number, block in enumerate(model.blocks):
        model.blocks[number] = checkpoint_wrapper(
            block, context_fn=contexts, preserve_rng_state=False
        )
    return model
