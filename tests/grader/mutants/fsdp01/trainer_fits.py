"""The trainer is run instead of returned."""

CHECK = "make_trainer"
CODE = "FIT_IN_MAKE_TRAINER"


def make_trainer(num_workers, storage_path):
    trainer = TorchTrainer(
        train_loop_per_worker,
        train_loop_config=CONFIG,
        scaling_config=ScalingConfig(num_workers=num_workers, use_gpu=False),
        torch_config=TorchConfig(backend="gloo"),
        run_config=RunConfig(storage_path=storage_path),
    )
    return trainer.fit()
