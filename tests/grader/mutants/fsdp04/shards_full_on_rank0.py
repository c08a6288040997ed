"""All ranks collect the whole state, and rank 0 writes it to one file."""

CHECK = "shards"
CODE = "STATE_GATHERED"


def save_shards(directory, state):
    opts = StateDictOptions(full_state_dict=True, cpu_offload=True)
    m, o = get_state_dict(state.model, state.optimizer, options=opts)
    rng = [None] * dist.get_world_size()
    dist.all_gather_object(rng, torch.get_rng_state())
    if dist.get_rank() == 0:
        torch.save(
            {"m": m, "o": o, "s": state.scheduler.state_dict(), "step": state.step, "rng": rng},
            Path(directory, "all.pt"),
        )
    dist.barrier()


def load_shards(directory, state):
    d = torch.load(Path(directory, "all.pt"), weights_only=False)
    opts = StateDictOptions(full_state_dict=True, cpu_offload=True)
    set_state_dict(
        state.model, state.optimizer, model_state_dict=d["m"], optim_state_dict=d["o"], options=opts
    )
    state.scheduler.load_state_dict(d["s"])
    state.step = d["step"]
    if len(d["rng"]) == dist.get_world_size():
        torch.set_rng_state(d["rng"][dist.get_rank()])
