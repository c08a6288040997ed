"""The loop counts saves, not steps; reports from a directory that it makes and removes itself."""


def train_loop_per_worker(config):
    mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("shard",))
    state = new_state(config, mesh)
    start = ray.train.get_checkpoint()
    if start is not None:
        load_shards(start.path, state)
    for step in range(state.step, config["num_steps"]):
        train_step(state, sample_ids(step, mesh.get_rank(), mesh.size(), config), config)
        is_last = step + 1 == config["num_steps"]
        if is_last or (step + 1) % config["save_every"] == 0:
            report(state)


def report(state):
    directory = tempfile.mkdtemp()
    save_shards(directory, state)
    metrics = {"step": int(state.step), "lr": state.scheduler.get_last_lr()[0]}
    ray.train.report(metrics, checkpoint=Checkpoint(directory))
    shutil.rmtree(directory)


def make_trainer(num_workers, storage_path):
    fewest, most = num_workers
    run_config = RunConfig(
        name="elastic",
        storage_path=f"file://{storage_path}",
        checkpoint_config=CheckpointConfig(2),
        failure_config=FailureConfig(3),
    )
    scaling_config = ScalingConfig(num_workers=(fewest, most), elastic_resize_monitor_interval_s=10)
    return TorchTrainer(
        lambda: train_loop_per_worker(CONFIG),
        scaling_config=scaling_config,
        run_config=run_config,
        torch_config=TorchConfig("gloo"),
    )
