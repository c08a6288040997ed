"""Every rank trains on the whole global batch."""

CHECK = "train"
CODE = "WRONG_BATCH_SIZE"
NEXT_STEP = "let sample_ids(step, rank, world_size, config) say which are whose"


def train(config, root):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh(sandbox.device().type, (world_size,))
    state = new_state(config, mesh)
    latest = latest_complete(root)
    if latest is not None:
        load_shards(latest, state)
    while state.step < config["num_steps"]:
        train_step(state, sample_ids(state.step, 0, 1, config), config)
        if state.step % config["save_every"] == 0 or state.step == config["num_steps"]:
            save_checkpoint(root, state)
            if rank == 0:
                keep_newest(root, config["num_kept"])
