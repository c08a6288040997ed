"""The function refers to something that cannot be sent to a rank."""

CHECK = "train_step"
CODE = "CANNOT_RUN"


LOCK = __import__("threading").Lock()


def train_step(model, optimizer, tokens, max_norm):
    with LOCK:
        return 0.0, 0.0
