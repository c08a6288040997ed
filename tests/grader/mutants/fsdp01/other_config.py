"""The trainer trains with other numbers than CONFIG."""

CHECK = "make_trainer"
CODE = "WRONG_LOOP_CONFIG"


def make_trainer(num_workers, storage_path):
    trainer = TorchTrainer(
        train_loop_per_worker,
        train_loop_config={**CONFIG, "lr": 7.0, "num_epochs": 1},
        scaling_config=ScalingConfig(num_workers=num_workers, use_gpu=False),
        torch_config=TorchConfig(backend="gloo"),
        run_config=RunConfig(storage_path=storage_path),
    )
    return trainer
