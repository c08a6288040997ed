"""The next epoch comes back as a text."""

CHECK = "checkpoint"
CODE = "RESUME_FROM_EPOCH_0"


def save_checkpoint(directory, model, optimizer, next_epoch):
    model_state, optimizer_state = get_state_dict(model, optimizer)
    state = {"model": model_state, "optimizer": optimizer_state, "next_epoch": str(next_epoch)}
    dcp.save(state, checkpoint_id=directory)
