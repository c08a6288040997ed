"""The scheduler is stepped once for every rank."""

CHECK = "train"
CODE = "SCHEDULER_TIMES_N"


def train_step(state, ids, config):
    tokens = toys.token_samples(ids, seq_len=config["seq_len"])
    inputs = mask_tokens(tokens, ids, state.step, config)
    logits = state.model(inputs.to(sandbox.device()))
    toys.next_token_loss(logits, tokens.to(sandbox.device())).backward()
    state.optimizer.step()
    for _ in range(dist.get_world_size()):
        state.scheduler.step()
    state.optimizer.zero_grad()
    state.step += 1
