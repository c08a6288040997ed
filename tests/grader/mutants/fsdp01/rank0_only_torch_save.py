"""Rank 0 alone saves its own state dict, with torch.save; every rank loads it."""

CHECK = "checkpoint"
CODE = "LOCAL_SHARD_TORCH_SAVE"


def save_checkpoint(directory, model, optimizer, next_epoch):
    if dist.get_rank() == 0:
        state = {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "next_epoch": next_epoch,
        }
        torch.save(state, f"{directory}/state.pt")
    dist.barrier()


def load_checkpoint(directory, model, optimizer):
    state = torch.load(f"{directory}/state.pt", weights_only=False)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["next_epoch"]
