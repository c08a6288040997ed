"""The norm is not returned."""

CHECK = "train_step"
CODE = "WRONG_RESULT"


def train_step(model, optimizer, tokens, max_norm):
    loss = toys.next_token_loss(model(tokens), tokens)
    loss.backward()
    optimizer.step()
    return loss.item()
