"""Saved after every step."""

CHECK = "train"
CODE = "SAVED_AT_OTHER_STEPS"


def train(config, root):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh(sandbox.device().type, (world_size,))
    state = new_state(config, mesh)
    latest = [latest_complete(root) if rank == 0 else None]
    dist.broadcast_object_list(latest)
    if latest[0] is not None:
        load_shards(latest[0], state)
    while state.step < config["num_steps"]:
        train_step(state, sample_ids(state.step, rank, world_size, config), config)
        save_checkpoint(root, state)
        if rank == 0:
            keep_newest(root, config["num_kept"])
