"""The number is not saved."""

CHECK = "checkpoint"
CODE = "RESUME_FROM_EPOCH_0"
NEXT_STEP = "save client_state"


def save_checkpoint(engine, directory, next_step):
    engine.save_checkpoint(directory)


def load_checkpoint(engine, directory):
    _, client_state = engine.load_checkpoint(directory)
    return client_state.get("next_step", 0)
