"""Which epoch comes next is neither saved nor returned."""

CHECK = "checkpoint"
CODE = "RESUME_FROM_EPOCH_0"


def save_checkpoint(directory, model, optimizer, next_epoch):
    model_state, optimizer_state = get_state_dict(model, optimizer)
    dcp.save({"model": model_state, "optimizer": optimizer_state}, checkpoint_id=directory)


def load_checkpoint(directory, model, optimizer):
    model_state, optimizer_state = get_state_dict(model, optimizer)
    state = {"model": model_state, "optimizer": optimizer_state}
    dcp.load(state, checkpoint_id=directory)
    set_state_dict(model, optimizer, model_state_dict=model_state, optim_state_dict=optimizer_state)
    return 0
