"""The trainer knows the loop and not its config."""

CHECK = "make_trainer"
CODE = "NO_LOOP_CONFIG"


def make_trainer(num_workers, storage_path):
    trainer = TorchTrainer(
        train_loop_per_worker,
        scaling_config=ScalingConfig(num_workers=num_workers, use_gpu=False),
        torch_config=TorchConfig(backend="gloo"),
        run_config=RunConfig(storage_path=storage_path),
    )
    return trainer
