"""It takes the most workers, or none."""

CHECK = "make_trainer"
CODE = "NOT_ELASTIC"


def make_trainer(num_workers, storage_path):
    return TorchTrainer(
        train_loop_per_worker,
        train_loop_config=CONFIG,
        scaling_config=ScalingConfig(num_workers=max(num_workers), use_gpu=False),
        torch_config=TorchConfig(backend="gloo"),
        run_config=RunConfig(
            storage_path=storage_path,
            failure_config=FailureConfig(max_failures=3),
            checkpoint_config=CheckpointConfig(num_to_keep=CONFIG["num_kept"]),
        ),
    )
