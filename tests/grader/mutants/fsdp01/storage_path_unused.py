"""Checkpoints go to Ray's default folder."""

CHECK = "make_trainer"
CODE = "STORAGE_PATH_UNUSED"


def make_trainer(num_workers, storage_path):
    return TorchTrainer(
        train_loop_per_worker,
        train_loop_config=CONFIG,
        scaling_config=ScalingConfig(num_workers=num_workers, use_gpu=False),
        torch_config=TorchConfig(backend="gloo"),
    )
