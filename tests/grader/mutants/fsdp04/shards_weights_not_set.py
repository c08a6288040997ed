"""What was loaded is not put back into the model."""

CHECK = "shards"
CODE = "WEIGHTS_NOT_RESTORED"


def load_shards(directory, state):
    model_state, optimizer_state = get_state_dict(state.model, state.optimizer)
    copied = {name: tensor.clone() for name, tensor in model_state.items()}
    loaded = {**collect(state), "model": copied, "optimizer": optimizer_state}
    dcp.load(loaded, checkpoint_id=directory, planner=DefaultLoadPlanner(allow_partial_load=True))
    state.optimizer.load_state_dict(state.optimizer.state_dict())
    state.scheduler.load_state_dict(loaded["scheduler"])
    state.step = loaded["step"]
