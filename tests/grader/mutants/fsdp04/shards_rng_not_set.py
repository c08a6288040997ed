"""The random states are saved, and never set again."""

CHECK = "shards"
CODE = "RNG_NOT_RESTORED"


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
    state.step = loaded["step"]
