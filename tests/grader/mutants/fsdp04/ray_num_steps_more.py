"""After a resume it trains num_steps more."""

CHECK = "train_loop"
CODE = "WRONG_NUM_STEPS"


def train_loop_per_worker(config):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh(sandbox.device().type, (world_size,))
    state = new_state(config, mesh)
    if checkpoint := ray.train.get_checkpoint():
        with checkpoint.as_directory() as directory:
            load_shards(directory, state)
    last = state.step + config["num_steps"]
    while state.step < last:
        train_step(state, sample_ids(state.step, rank, world_size, config), config)
        if state.step % config["save_every"] == 0 or state.step == last:
            with tempfile.TemporaryDirectory() as directory:
                save_shards(directory, state)
                reported = Checkpoint.from_directory(directory)
                ray.train.report({"step": state.step}, checkpoint=reported)
