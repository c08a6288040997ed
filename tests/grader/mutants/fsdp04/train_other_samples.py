"""The samples are those of another data set."""

CHECK = "train"
CODE = "UNKNOWN_SAMPLES"
NEXT_STEP = "let train_step(state, ids, config) make them from the ids"


def train_step(state, ids, config):
    tokens = toys.token_samples(ids, seq_len=config["seq_len"], seed=1)
    inputs = mask_tokens(tokens, ids, state.step, config)
    logits = state.model(inputs.to(sandbox.device()))
    toys.next_token_loss(logits, tokens.to(sandbox.device())).backward()
    state.optimizer.step()
    state.scheduler.step()
    state.optimizer.zero_grad()
    state.step += 1
