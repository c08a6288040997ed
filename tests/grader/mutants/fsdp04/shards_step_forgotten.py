"""The step is not set again: the data starts anew."""

CHECK = "shards"
CODE = "DATALOADER_STATE_LOST"


def load_shards(directory, state):
    loaded = collect(state)
    dcp.load(loaded, checkpoint_id=directory, planner=DefaultLoadPlanner(allow_partial_load=True))
    set_state_dict(
        state.model,
        state.optimizer,
        model_state_dict=loaded["model"],
        optim_state_dict=loaded["optimizer"],
    )
    state.scheduler.load_state_dict(loaded["scheduler"])
    for rng_state in loaded["rng"].values():
        torch.set_rng_state(rng_state)
