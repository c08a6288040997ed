"""Each rank saves its shards with torch.save: only as many ranks can load them."""

CHECK = "shards"
CODE = "LOCAL_SHARD_TORCH_SAVE"


def save_shards(directory, state):
    loaded = {
        "model": state.model.state_dict(),
        "optimizer": state.optimizer.state_dict(),
        "scheduler": state.scheduler.state_dict(),
        "step": state.step,
        "rng": torch.get_rng_state(),
    }
    torch.save(loaded, Path(directory, f"rank-{dist.get_rank()}.pt"))


def load_shards(directory, state):
    loaded = torch.load(Path(directory, f"rank-{dist.get_rank()}.pt"), weights_only=False)
    state.model.load_state_dict(loaded["model"])
    state.optimizer.load_state_dict(loaded["optimizer"])
    state.scheduler.load_state_dict(loaded["scheduler"])
    state.step = loaded["step"]
    torch.set_rng_state(loaded["rng"])
