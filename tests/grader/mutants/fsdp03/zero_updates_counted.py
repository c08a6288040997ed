"""An update of 0 moves nothing, and is counted."""

CHECK = "lost_updates"
CODE = "ZEROS_COUNTED"


def lost_updates(weights, updates, dtype):
    stored = weights.to(dtype)
    return (stored + updates.to(dtype) == stored).sum().item()
