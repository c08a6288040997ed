"""Mistakes in using Ray Train: trainers, workers, reports."""

RANK0_ONLY_REPORT = (
    "The ranks call ray.train.report different numbers of times; it waits for all of them.",
    "call it on every rank, once per epoch, outside any `if rank == 0`",
)
TOO_MANY_REPORTS = (
    "The loop calls ray.train.report more than once in an epoch.",
    "call it once, after the epoch's last step, with the metrics of that step",
)
METRIC_MISSING = (
    "A metric that the docstring lists was not reported.",
    'report {"epoch": …, "loss": …, "grad_norm": …} after each epoch, on every rank',
)
WRONG_EPOCH_REPORTED = (
    'The "epoch" that was reported is not the one that was trained.',
    "count epochs from 0 and report the loop's own `epoch`; save epoch + 1 as the next one",
)
TOO_FEW_EPOCHS = (
    "The loop ends before the last epoch that was asked for.",
    'go on to config["num_epochs"]: for epoch in range(first_epoch, config["num_epochs"])',
)
TOO_MANY_EPOCHS = (
    "The loop goes on after the last epoch that was asked for.",
    "num_epochs counts from epoch 0, also after a resume: range(first_epoch, num_epochs)",
)
LOOP_REPEATS_EPOCH = (
    "A later epoch trains on the batches of an earlier one.",
    "give batches() the loop's own `epoch`; if check_sample_ids fails, begin there",
)
NO_CHECKPOINT = (
    "No complete checkpoint reached the storage path.",
    "every rank hands ray.train.report a Checkpoint of the directory that it saved into",
)
RANK0_ONLY_CHECKPOINT = (
    "Only some ranks hand a checkpoint to ray.train.report, and the rest of it is lost.",
    "pass checkpoint=Checkpoint.from_directory(directory) on every rank: each wrote its own rows",
)
RANK0_ONLY_SAVE = (
    "Only some ranks save, but every rank holds a part of the checkpoint.",
    "save and report on every rank, outside any `if rank == 0`",
)
NOT_A_TRAINER = ("make_trainer returns no TorchTrainer.", "return the TorchTrainer you create")
FIT_IN_MAKE_TRAINER = (
    "make_trainer calls fit(), which trains; it is to make the trainer and no more.",
    "return the trainer, not what fit() returns",
)
NO_LOOP_CONFIG = (
    "The trainer has no config to call its loop with.",
    "pass train_loop_config=CONFIG to TorchTrainer",
)
WRONG_LOOP_CONFIG = (
    "The trainer's loop would get another config than CONFIG.",
    "pass CONFIG on as it is: train_loop_config=CONFIG",
)
WRONG_NUM_WORKERS = (
    "The trainer does not start the number of workers that was asked for.",
    "pass the argument on: ScalingConfig(num_workers=num_workers)",
)
WRONG_BACKEND = (
    "The workers are not CPU workers that talk over gloo.",
    'pass torch_config=TorchConfig(backend="gloo"), and use_gpu=False',
)
STORAGE_PATH_UNUSED = (
    "Checkpoints would not go where make_trainer was told to put them.",
    "pass the argument on: RunConfig(storage_path=storage_path)",
)
REPORTED_ELSEWHERE = (
    "The steps after which the loop reports are not those after which it is to save.",
    "after every save_every steps and after the last, each once; count with state.step",
)
NOT_ELASTIC = (
    "The trainer does not take any number of workers in the range that was asked for.",
    "pass the pair on, as it is: ScalingConfig(num_workers=num_workers)",
)
MAX_FAILURES_0 = (
    "The run does not survive as many failures as it should; by default it survives none.",
    "RunConfig(failure_config=FailureConfig(max_failures=3))",
)
CHECKPOINTS_PILE_UP = (
    "The trainer does not keep as many checkpoints as it should; by default it keeps all.",
    'RunConfig(checkpoint_config=CheckpointConfig(num_to_keep=CONFIG["num_kept"]))',
)
