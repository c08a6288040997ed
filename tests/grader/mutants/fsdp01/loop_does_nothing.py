"""The trainer's loop trains nothing."""

CHECK = "make_trainer"
CODE = "NO_STEP"


def make_trainer(num_workers, storage_path):
    return TorchTrainer(
        lambda config: None,
        train_loop_config=CONFIG,
        scaling_config=ScalingConfig(num_workers=num_workers),
        torch_config=TorchConfig(backend="gloo"),
        run_config=RunConfig(storage_path=storage_path),
    )
