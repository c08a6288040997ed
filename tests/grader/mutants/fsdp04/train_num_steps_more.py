"""After a resume, num_steps more steps are made."""

CHECK = "train"
CODE = "WRONG_NUM_STEPS"


def train(config, root):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh(sandbox.device().type, (world_size,))
    state = new_state(config, mesh)
    latest = latest_complete(root)
    if latest is not None:
        load_shards(latest, state)
    for _ in range(config["num_steps"] + 1):
        train_step(state, sample_ids(state.step, rank, world_size, config), config)
        if state.step % config["save_every"] == 0 or state.step == config["num_steps"]:
            save_checkpoint(root, state)
            if rank == 0:
                keep_newest(root, config["num_kept"])
