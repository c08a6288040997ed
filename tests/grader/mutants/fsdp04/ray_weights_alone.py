"""Only the weights are taken from the checkpoint."""

CHECK = "train_loop"
CODE = "OPTIM_NOT_RESTORED"


def train_loop_per_worker(config):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh(sandbox.device().type, (world_size,))
    state = new_state(config, mesh)
    if checkpoint := ray.train.get_checkpoint():
        with checkpoint.as_directory() as directory:
            other = new_state(config, mesh)
            load_shards(directory, other)
        state.model.load_state_dict(other.model.state_dict())
        state.scheduler.load_state_dict(other.scheduler.state_dict())
        state.optimizer.param_groups[0]["lr"] = other.optimizer.param_groups[0]["lr"]
        state.step = other.step
    while state.step < config["num_steps"]:
        train_step(state, sample_ids(state.step, rank, world_size, config), config)
        if state.step % config["save_every"] == 0 or state.step == config["num_steps"]:
            with tempfile.TemporaryDirectory() as directory:
                save_shards(directory, state)
                reported = Checkpoint.from_directory(directory)
                ray.train.report({"step": state.step}, checkpoint=reported)
