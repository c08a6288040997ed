"""Compared with the weight before it was stored."""

CHECK = "lost_updates"
CODE = "NOT_THE_STORED_WEIGHT"


def lost_updates(weights, updates, dtype):
    new = weights.to(dtype) + updates.to(dtype)
    return ((new == weights) & (updates != 0)).sum().item()
