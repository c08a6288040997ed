"""Every checkpoint is kept."""

CHECK = "make_trainer"
CODE = "CHECKPOINTS_PILE_UP"


def make_trainer(num_workers, storage_path):
    return TorchTrainer(
        train_loop_per_worker,
        train_loop_config=CONFIG,
        scaling_config=ScalingConfig(num_workers=num_workers, use_gpu=False),
        torch_config=TorchConfig(backend="gloo"),
        run_config=RunConfig(
            storage_path=storage_path,
            failure_config=FailureConfig(max_failures=3),
        ),
    )
