"""NCCL, which needs GPUs."""

CHECK = "make_trainer"
CODE = "WRONG_BACKEND"


def make_trainer(num_workers, storage_path):
    return TorchTrainer(
        train_loop_per_worker,
        train_loop_config=CONFIG,
        scaling_config=ScalingConfig(num_workers=num_workers, use_gpu=False),
        torch_config=TorchConfig(backend="nccl"),
        run_config=RunConfig(storage_path=storage_path),
    )
