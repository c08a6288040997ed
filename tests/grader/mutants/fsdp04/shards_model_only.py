"""The optimizer's state is neither saved nor loaded."""

CHECK = "shards"
CODE = "OPTIM_NOT_RESTORED"


def save_shards(directory, state):
    loaded = collect(state)
    del loaded["optimizer"]
    dcp.save(loaded, checkpoint_id=directory)


def load_shards(directory, state):
    loaded = collect(state)
    optimizer_state = loaded.pop("optimizer")
    dcp.load(loaded, checkpoint_id=directory, planner=DefaultLoadPlanner(allow_partial_load=True))
    set_state_dict(
        state.model,
        state.optimizer,
        model_state_dict=loaded["model"],
        optim_state_dict=optimizer_state,
    )
    state.scheduler.load_state_dict(loaded["scheduler"])
    state.step = loaded["step"]
    for rng_state in loaded["rng"].values():
        torch.set_rng_state(rng_state)
