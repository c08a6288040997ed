"""The updates that move their weight are counted."""

CHECK = "lost_updates"
CODE = "WRONG_COUNT"


def lost_updates(weights, updates, dtype):
    stored = weights.to(dtype)
    return (stored + updates.to(dtype) != stored).sum().item()
