"""The moments are restored; lr stays that of the fresh optimizer."""

CHECK = "checkpoint"
CODE = "OPTIM_NOT_RESTORED"


def load_checkpoint(directory, model, optimizer):
    lr = optimizer.param_groups[0]["lr"]
    model_state, optimizer_state = get_state_dict(model, optimizer)
    state = {"model": model_state, "optimizer": optimizer_state, "next_epoch": 0}
    dcp.load(state, checkpoint_id=directory)
    set_state_dict(
        model,
        optimizer,
        model_state_dict=state["model"],
        optim_state_dict=state["optimizer"],
    )
    optimizer.param_groups[0]["lr"] = lr
    return state["next_epoch"]
