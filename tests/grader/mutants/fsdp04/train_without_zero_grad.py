"""The gradients are never cleared."""

CHECK = "train"
CODE = "WRONG_WEIGHTS"


def train_step(state, ids, config):
    tokens = toys.token_samples(ids, seq_len=config["seq_len"])
    inputs = mask_tokens(tokens, ids, state.step, config)
    logits = state.model(inputs.to(sandbox.device()))
    toys.next_token_loss(logits, tokens.to(sandbox.device())).backward()
    state.optimizer.step()
    state.scheduler.step()
    state.step += 1
