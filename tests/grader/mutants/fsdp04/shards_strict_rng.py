"""Each rank insists on its own entry: loading on other ranks than saved fails."""

CHECK = "shards"
CODE = "RANK_ENTRY_MISSING"


def load_shards(directory, state):
    loaded = collect(state)
    dcp.load(loaded, checkpoint_id=directory)
    set_state_dict(
        state.model,
        state.optimizer,
        model_state_dict=loaded["model"],
        optim_state_dict=loaded["optimizer"],
    )
    state.scheduler.load_state_dict(loaded["scheduler"])
    state.step = loaded["step"]
    for rng_state in loaded["rng"].values():
        torch.set_rng_state(rng_state)
