"""Mistakes in using Ray Train: trainers, workers, reports."""

RANK0_ONLY_REPORT = (
    "The ranks call ray.train.report different numbers of times; it waits for all of them.",
    "call it on every rank, once per epoch, outside any `if rank == 0`",
)
TOO_MANY_REPORTS = (
    "The loop calls ray.train.report more than once in an epoch.",
    "call it once, after the epoch's last step, with the metrics of that step",
)
METRIC_MISSING = ("A metric is missing or not a number.", "report what the docstring lists")
NO_CHECKPOINT = (
    "No complete checkpoint reached the storage path.",
    "every rank hands ray.train.report a Checkpoint of the directory that it saved into",
)
RANK0_ONLY_CHECKPOINT = (
    "Only some ranks hand a checkpoint to ray.train.report, and the rest of it is lost.",
    "pass checkpoint=Checkpoint.from_directory(directory) on every rank: each wrote its own rows",
)
NOT_A_TRAINER = ("make_trainer returns no TorchTrainer.", "return the TorchTrainer you create")
WRONG_NUM_WORKERS = (
    "The trainer does not start the number of workers that was asked for.",
    "pass the argument on: ScalingConfig(num_workers=num_workers)",
)
WRONG_BACKEND = (
    "The workers would not talk over gloo.",
    'pass torch_config=TorchConfig(backend="gloo"), and use_gpu=False',
)
STORAGE_PATH_UNUSED = (
    "Checkpoints would not go where make_trainer was told to put them.",
    "pass the argument on: RunConfig(storage_path=storage_path)",
)
