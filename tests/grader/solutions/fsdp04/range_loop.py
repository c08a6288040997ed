"""The loop counts steps with range; every rank looks for itself; saves are made before a step."""


def train(config, root):
    world_size = int(os.environ["WORLD_SIZE"])
    mesh = init_device_mesh(sandbox.device().type, (world_size,))
    state = new_state(config, mesh)
    found = latest_complete(root)
    dist.barrier()
    if found:
        load_shards(found, state)
    saved = state.step
    for step in range(state.step, config["num_steps"] + 1):
        is_due = step % config["save_every"] == 0 or step == config["num_steps"]
        if is_due and step > saved:
            save_checkpoint(root, state)
            if dist.get_rank() == dist.get_world_size() - 1:
                keep_newest(root, config["num_kept"])
            dist.barrier()
        if step < config["num_steps"]:
            ids = sample_ids(step, dist.get_rank(), world_size, config)
            train_step(state, ids, config)
