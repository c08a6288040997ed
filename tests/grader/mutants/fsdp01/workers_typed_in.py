"""The number of workers is typed in."""

CHECK = "make_trainer"
CODE = "WRONG_NUM_WORKERS"


def make_trainer(num_workers, storage_path):
    return TorchTrainer(
        train_loop_per_worker,
        train_loop_config=CONFIG,
        scaling_config=ScalingConfig(num_workers=4, use_gpu=False),
        torch_config=TorchConfig(backend="gloo"),
        run_config=RunConfig(storage_path=storage_path),
    )
