"""Only rank 0 finds the checkpoint, and loads it alone."""

CHECK = "train"
CODE = "LOADED_BY_SOME_RANKS"


def train(config, root):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh(sandbox.device().type, (world_size,))
    state = new_state(config, mesh)
    latest = latest_complete(root) if rank == 0 else None
    if latest is not None:
        load_shards(latest, state)
    while state.step < config["num_steps"]:
        train_step(state, sample_ids(state.step, rank, world_size, config), config)
        if state.step % config["save_every"] == 0 or state.step == config["num_steps"]:
            save_checkpoint(root, state)
            if rank == 0:
                keep_newest(root, config["num_kept"])
