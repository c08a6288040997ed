"""The loop gets its config before Ray does; the storage path is a URL."""


def make_trainer(num_workers, storage_path):
    return TorchTrainer(
        functools.partial(train_loop_per_worker, CONFIG),
        scaling_config=ScalingConfig(num_workers=num_workers),
        torch_config=TorchConfig(backend="gloo", timeout_s=60),
        run_config=RunConfig(name="run", storage_path=f"file://{storage_path}"),
    )
