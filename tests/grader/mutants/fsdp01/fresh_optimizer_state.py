"""Loads into the state of a fresh AdamW, which is empty, so nothing is loaded."""

CHECK = "checkpoint"
CODE = "OPTIM_NOT_RESTORED"


def save_checkpoint(directory, model, optimizer, next_epoch):
    state = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "next_epoch": next_epoch,
    }
    dcp.save(state, checkpoint_id=directory)


def load_checkpoint(directory, model, optimizer):
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "next_epoch": 0}
    dcp.load(state, checkpoint_id=directory)
    optimizer.load_state_dict(state["optimizer"])
    return state["next_epoch"]
