"""No old checkpoint is ever removed."""

CHECK = "train"
CODE = "NOT_REMOVED"


def train(config, root):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh(sandbox.device().type, (world_size,))
    state = new_state(config, mesh)
    latest = latest_complete(root)
    if latest is not None:
        load_shards(latest, state)
    while state.step < config["num_steps"]:
        train_step(state, sample_ids(state.step, rank, world_size, config), config)
        if state.step % config["save_every"] == 0 or state.step == config["num_steps"]:
            save_checkpoint(root, state)
