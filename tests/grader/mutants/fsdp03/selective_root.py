"""One region for the whole model, with its matmuls kept."""

CHECK = "checkpoint_selective"
CODE = "ROOT_CHECKPOINTED"


def checkpoint_selective(model):
    kept = [torch.ops.aten.mm.default, torch.ops.aten.bmm.default]
    contexts = functools.partial(create_selective_checkpoint_contexts, kept)
    return checkpoint_wrapper(model, context_fn=contexts)
