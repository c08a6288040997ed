"""Deadlocked: only rank 0 saves, so it waits for the others for ever."""


def save_checkpoint(directory, model, optimizer, next_epoch):
    if dist.get_rank() == 0:
        model_state, optimizer_state = get_state_dict(model, optimizer)
        state = {"model": model_state, "optimizer": optimizer_state, "next_epoch": next_epoch}
        dcp.save(state, checkpoint_id=directory)
