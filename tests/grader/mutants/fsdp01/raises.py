"""A typing error, found when it runs."""

CHECK = "train_step"
CODE = "RAISED"


def train_step(model, optimizer, tokens, max_norm):
    loss = toys.next_token_loss(model(tokens), token)
    return loss.item(), 0.0
