"""Failures are left to the default: none is survived."""

CHECK = "make_trainer"
CODE = "MAX_FAILURES_0"


def make_trainer(num_workers, storage_path):
    return TorchTrainer(
        train_loop_per_worker,
        train_loop_config=CONFIG,
        scaling_config=ScalingConfig(num_workers=num_workers, use_gpu=False),
        torch_config=TorchConfig(backend="gloo"),
        run_config=RunConfig(
            storage_path=storage_path,
            checkpoint_config=CheckpointConfig(num_to_keep=CONFIG["num_kept"]),
        ),
    )
