"""Only the weights are saved."""

CHECK = "checkpoint"
CODE = "OPTIM_NOT_RESTORED"


def save_checkpoint(directory, model, optimizer, next_epoch):
    state = {"model": model.state_dict(), "next_epoch": next_epoch}
    dcp.save(state, checkpoint_id=directory)


def load_checkpoint(directory, model, optimizer):
    state = {"model": model.state_dict(), "next_epoch": 0}
    dcp.load(state, checkpoint_id=directory)
    return state["next_epoch"]
