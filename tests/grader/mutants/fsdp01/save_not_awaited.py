"""Rank 0 writes the next epoch in a thread that nobody waits for."""

CHECK = "checkpoint"
CODE = "SAVE_NOT_AWAITED"


def save_checkpoint(directory, model, optimizer, next_epoch):
    import threading

    model_state, optimizer_state = get_state_dict(model, optimizer)
    state = {"model": model_state, "optimizer": optimizer_state, "next_epoch": next_epoch}
    dcp.save(state, checkpoint_id=directory)
    if dist.get_rank() == 0:
        write = functools.partial(torch.save, next_epoch, f"{directory}/next_epoch.pt")
        threading.Timer(0.5, write).start()
