"""Does nothing and returns numbers."""

CHECK = "train_step"
CODE = "WRONG_LOSS"


def train_step(model, optimizer, tokens, max_norm):
    return 4.0, 1.0
