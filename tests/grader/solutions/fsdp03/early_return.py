"""A step that returns early where it skips; blocks found by apply_activation_checkpointing."""


def train_step(model, optimizer, tokens, scaler, max_norm):
    optimizer.zero_grad()
    scale = scaler["scale"]
    loss = toys.next_token_loss(model(tokens), tokens) * scale
    loss.backward()
    weights = list(model.parameters())
    if unscale_gradients(weights, scale):
        scaler.update(scale=scale / 2, num_good_steps=0)
        return True
    torch.nn.utils.clip_grad_norm_(weights, max_norm)
    optimizer.step()
    scaler["scale"], scaler["num_good_steps"] = update_scale(
        scale, scaler["num_good_steps"], False, scaler["growth_interval"]
    )
    return False


def checkpoint_blocks(model, every):
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
        apply_activation_checkpointing,
    )

    chosen = {block for number, block in enumerate(model.blocks) if number % every == 0}
    apply_activation_checkpointing(model, check_fn=lambda module: module in chosen)
    return model
