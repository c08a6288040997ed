"""The run is shorter than CONFIG says."""

CHECK = "make_trainer"
CODE = "WRONG_LOOP_CONFIG"


def make_trainer(num_workers, storage_path):
    return TorchTrainer(
        train_loop_per_worker,
        train_loop_config={**CONFIG, "num_steps": 8},
        scaling_config=ScalingConfig(num_workers=num_workers, use_gpu=False),
        torch_config=TorchConfig(backend="gloo"),
        run_config=RunConfig(
            storage_path=storage_path,
            failure_config=FailureConfig(max_failures=3),
            checkpoint_config=CheckpointConfig(num_to_keep=CONFIG["num_kept"]),
        ),
    )
