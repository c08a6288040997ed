"""The weights are loaded, the moments are not."""

CHECK = "checkpoint"
CODE = "OPTIM_NOT_RESTORED"
NEXT_STEP = "engine.load_checkpoint(directory), on every rank"


def load_checkpoint(engine, directory):
    _, client_state = engine.load_checkpoint(
        directory, load_optimizer_states=False, load_lr_scheduler_states=False
    )
    return client_state["next_step"]
