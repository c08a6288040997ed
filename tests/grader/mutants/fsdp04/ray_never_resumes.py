"""It never asks Ray for a checkpoint."""

CHECK = "train_loop"
CODE = "RESUME_FROM_STEP_0"
NEXT_STEP = "ask ray.train.get_checkpoint() before the first step, and load what it returns"


def train_loop_per_worker(config):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh(sandbox.device().type, (world_size,))
    state = new_state(config, mesh)
    while state.step < config["num_steps"]:
        train_step(state, sample_ids(state.step, rank, world_size, config), config)
        if state.step % config["save_every"] == 0 or state.step == config["num_steps"]:
            with tempfile.TemporaryDirectory() as directory:
                save_shards(directory, state)
                reported = Checkpoint.from_directory(directory)
                ray.train.report({"step": state.step}, checkpoint=reported)
