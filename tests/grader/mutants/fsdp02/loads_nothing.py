"""The client state is kept in a file of its own, and nothing else is loaded."""

CHECK = "checkpoint"
CODE = "WEIGHTS_NOT_RESTORED"
NEXT_STEP = "engine.load_checkpoint(directory), on every rank"


def load_checkpoint(engine, directory):
    return 5
