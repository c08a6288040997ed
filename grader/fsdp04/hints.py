"""The hints of fsdp04, in tiers: a nudge, a direction, nearly the answer."""

from grader.hints import Hints

TIERS = {
    1: (
        "What must not change when the number of ranks does: a rank's samples, or a step's?",
        "First the step's global batch, from step and seed alone; only then this rank's part.",
        "epoch, place = divmod(step, steps_per_epoch); order[place * size : (place + 1) * size].",
    ),
    2: (
        "Which numbers tell this row apart from every other row of the whole training?",
        "A generator of its own for each row, seeded by hand from (seed, step, id).",
        "One number from three: (seed * num_steps + step) * num_samples + id, for example.",
    ),
    3: (
        "What does a TrainState hold? All of it must come back; the RNG state is one thing more.",
        "A plain tensor under the same key on all ranks is saved once. A key per rank is not.",
        "Put rank and world_size into the RNG's key, and allow_partial_load=True when loading.",
    ),
    4: (
        "Which files are in the directory, at any depth? Which of them is the record itself?",
        "hashlib.sha256(path.read_bytes()).hexdigest(), under the path relative to the directory.",
        "is_complete computes the same again, and compares: missing, shorter, changed are alike.",
    ),
    5: (
        "What is the one thing that a file system does in one go, for a whole directory?",
        "Write under a name that latest_complete does not look at; rename when all ranks are done.",
        "Rank 0: clear what an earlier crash left; all: save_shards; rank 0: record, os.rename.",
    ),
    6: (
        "If num_kept of the newest are torn, how many good ones does it leave?",
        "Sort out the complete ones first. Count those, newest first.",
        "One process deletes. What is newest and complete stays, whatever num_kept says.",
    ),
    7: (
        "What does a new generation know? Only what is on disk.",
        "The same lines start a run and resume it: if there is a checkpoint, load it.",
        "while state.step < config['num_steps']: ids, train_step, and save if it is time.",
    ),
    8: (
        "What must be done before save_async returns, and what may come later?",
        "dcp.async_save copies the state, returns, and writes in a thread. Who waits for that, to "
        "commit?",
        "A function that waits for it and commits, in a thread of yours: "
        "ThreadPoolExecutor(1).submit(commit) returns the Future to return.",
    ),
    9: (
        "It is `train`, with Ray in the place of your directory: who finds the newest checkpoint, "
        "and who commits?",
        "ray.train.get_checkpoint() is None or a Checkpoint; `with checkpoint.as_directory() as "
        "directory:` gives a directory for load_shards.",
        "with tempfile.TemporaryDirectory() as directory: save_shards(directory, state), then "
        "ray.train.report({...}, checkpoint=Checkpoint.from_directory(directory)), on every rank.",
    ),
    10: (
        "Which object says how many workers, which one where checkpoints go?",
        "RunConfig takes storage_path, failure_config and checkpoint_config.",
        "ScalingConfig(num_workers=num_workers), FailureConfig(max_failures=3), "
        'CheckpointConfig(num_to_keep=CONFIG["num_kept"]), TorchConfig(backend="gloo").',
    ),
}

hint = Hints(TIERS).show
