"""Data that starts anew after a crash, and a retention that ends the kernel."""

import os


def keep_newest(root, num_kept):
    os._exit(1)


os._exit(1)


def train(config, root):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh(sandbox.device().type, (world_size,))
    state = new_state(config, mesh)
    latest = latest_complete(root)
    if latest is not None:
        load_shards(latest, state)
    for place in range(config["num_steps"] - state.step):
        train_step(state, sample_ids(place, rank, world_size, config), config)
        if state.step % config["save_every"] == 0 or state.step == config["num_steps"]:
            save_checkpoint(root, state)
