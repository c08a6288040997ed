"""The dtype is typed in."""

CHECK = "lost_updates"
CODE = "DTYPE_IGNORED"


def lost_updates(weights, updates, dtype):
    stored = weights.bfloat16()
    return ((stored + updates.bfloat16() == stored) & (updates != 0)).sum().item()
