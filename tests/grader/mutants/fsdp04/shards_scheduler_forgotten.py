"""The scheduler starts anew; the learning rate in the optimizer hides it for one step."""

CHECK = "shards"
CODE = "SCHEDULER_NOT_RESTORED"


def load_shards(directory, state):
    loaded = collect(state)
    dcp.load(loaded, checkpoint_id=directory, planner=DefaultLoadPlanner(allow_partial_load=True))
    set_state_dict(
        state.model,
        state.optimizer,
        model_state_dict=loaded["model"],
        optim_state_dict=loaded["optimizer"],
    )
    state.step = loaded["step"]
    for rng_state in loaded["rng"].values():
        torch.set_rng_state(rng_state)
