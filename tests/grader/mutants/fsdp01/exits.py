"""A rank ends its process."""

CHECK = "train_step"
CODE = "RANK_DIED"


def train_step(model, optimizer, tokens, max_norm):
    import os

    os._exit(3)
