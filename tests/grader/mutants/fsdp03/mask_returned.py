"""The mask is returned, not its sum."""

CHECK = "lost_updates"
CODE = "WRONG_RESULT"


def lost_updates(weights, updates, dtype):
    stored = weights.to(dtype)
    return (stored + updates.to(dtype) == stored) & (updates != 0)
