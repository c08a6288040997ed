"""Another metric is reported."""

CHECK = "train_loop"
CODE = "METRIC_MISSING"
NEXT_STEP = 'report {"step": state.step} with each checkpoint'


def train_loop_per_worker(config):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh(sandbox.device().type, (world_size,))
    state = new_state(config, mesh)
    if checkpoint := ray.train.get_checkpoint():
        with checkpoint.as_directory() as directory:
            load_shards(directory, state)
    while state.step < config["num_steps"]:
        train_step(state, sample_ids(state.step, rank, world_size, config), config)
        if state.step % config["save_every"] == 0 or state.step == config["num_steps"]:
            with tempfile.TemporaryDirectory() as directory:
                save_shards(directory, state)
                reported = Checkpoint.from_directory(directory)
                ray.train.report({"epoch": state.step // 2}, checkpoint=reported)
