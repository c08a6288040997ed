"""The loop exchanges the config that it is given."""

CHECK = "make_trainer"
CODE = "WRONG_WEIGHTS"


def loop(config):
    train_loop_per_worker({**config, "lr": 7.0})


def make_trainer(num_workers, storage_path):
    trainer = TorchTrainer(
        loop,
        train_loop_config=CONFIG,
        scaling_config=ScalingConfig(num_workers=num_workers, use_gpu=False),
        torch_config=TorchConfig(backend="gloo"),
        run_config=RunConfig(storage_path=storage_path),
    )
    return trainer
