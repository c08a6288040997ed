"""Written in place, without a record: the newest directory is taken for the newest checkpoint."""

CHECK = "checkpoint"
CODE = "LATEST_POINTS_TO_TORN"


def save_checkpoint(root, state):
    save_shards(Path(root, f"step-{state.step:06}"), state)


def latest_complete(root):
    return max(Path(root).glob("step-*"), default=None)
