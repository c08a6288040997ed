"""Every rank asks for the ids of rank 0."""

CHECK = "train_loop"
CODE = "WRONG_BATCH_SIZE"
NEXT_STEP = "let sample_ids(step, rank, world_size, config) say which are whose"


def train_loop_per_worker(config):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh(sandbox.device().type, (world_size,))
    state = new_state(config, mesh)
    if checkpoint := ray.train.get_checkpoint():
        with checkpoint.as_directory() as directory:
            load_shards(directory, state)
    while state.step < config["num_steps"]:
        train_step(state, sample_ids(state.step, 0, 1, config), config)
        if state.step % config["save_every"] == 0 or state.step == config["num_steps"]:
            with tempfile.TemporaryDirectory() as directory:
                save_shards(directory, state)
                reported = Checkpoint.from_directory(directory)
                ray.train.report({"step": state.step}, checkpoint=reported)
