"""apply_activation_checkpointing finds the blocks."""


def checkpoint_blocks(model, every):
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
        apply_activation_checkpointing,
    )

    chosen = {block for number, block in enumerate(model.blocks) if number % every == 0}
    apply_activation_checkpointing(model, check_fn=lambda module: module in chosen)
    return model
