"""After saving, rank 0 alone waits for everybody."""

CHECK = "checkpoint"
CODE = "DEADLOCK"


def save_checkpoint(directory, model, optimizer, next_epoch):
    model_state, optimizer_state = get_state_dict(model, optimizer)
    state = {"model": model_state, "optimizer": optimizer_state, "next_epoch": next_epoch}
    dcp.save(state, checkpoint_id=directory)
    if dist.get_rank() == 0:
        dist.barrier()
