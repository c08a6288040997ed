"""Every rank has the whole state in memory before dcp divides it."""

CHECK = "shards"
CODE = "STATE_GATHERED"


OPTS = {"full_state_dict": True}


def collect(state):
    m, o = get_state_dict(state.model, state.optimizer, options=StateDictOptions(**OPTS))
    return {
        "model": m,
        "optimizer": o,
        "scheduler": state.scheduler.state_dict(),
        "step": state.step,
        "rng": {f"{dist.get_rank()} of {dist.get_world_size()}": torch.get_rng_state()},
    }


def save_shards(directory, state):
    dcp.save(collect(state), checkpoint_id=directory)


def load_shards(directory, state):
    loaded = collect(state)
    dcp.load(loaded, checkpoint_id=directory, planner=DefaultLoadPlanner(allow_partial_load=True))
    set_state_dict(
        state.model,
        state.optimizer,
        model_state_dict=loaded["model"],
        optim_state_dict=loaded["optimizer"],
        options=StateDictOptions(**OPTS),
    )
    state.scheduler.load_state_dict(loaded["scheduler"])
    state.step = loaded["step"]
    for r in loaded["rng"].values():
        torch.set_rng_state(r)
