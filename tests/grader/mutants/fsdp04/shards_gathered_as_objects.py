"""Rank 0 collects every rank's shards as objects, and writes a file for each."""

CHECK = "shards"
CODE = "STATE_GATHERED"


def save_shards(directory, state):
    m, o = get_state_dict(state.model, state.optimizer)
    mine = {name: value.to_local() for name, value in m.items()}
    moments = {
        name: {k: v.to_local() if hasattr(v, "to_local") else v for k, v in values.items()}
        for name, values in o["state"].items()
    }
    rest = (state.scheduler.state_dict(), state.step, torch.get_rng_state(), o["param_groups"])
    everything = [None] * dist.get_world_size() if dist.get_rank() == 0 else None
    dist.gather_object((mine, moments, *rest), everything)
    for rank, its in enumerate(everything or []):
        torch.save(its, Path(directory, f"{rank}.pt"))
    dist.barrier()


def load_shards(directory, state):
    files = sorted(Path(directory).glob("*.pt"))
    saved = [torch.load(file, weights_only=False) for file in files]
    weights = {name: torch.cat([s[0][name] for s in saved]) for name in saved[0][0]}
    states = {
        name: {
            k: torch.cat([s[1][name][k] for s in saved]) if v.ndim else v for k, v in values.items()
        }
        for name, values in saved[0][1].items()
    }
    set_state_dict(
        state.model,
        state.optimizer,
        model_state_dict=weights,
        optim_state_dict={"state": states, "param_groups": saved[0][5]},
        options=StateDictOptions(full_state_dict=True),
    )
    state.scheduler.load_state_dict(saved[0][2])
    state.step = saved[0][3]
    if len(saved) == dist.get_world_size():
        torch.set_rng_state(saved[dist.get_rank()][4])
