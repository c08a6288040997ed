"""A file that names the newest is written before the checkpoint is."""

CHECK = "checkpoint"
CODE = "LATEST_POINTS_TO_TORN"


def save_checkpoint(root, state):
    name = f"step-{state.step:06}"
    os.makedirs(root, exist_ok=True)
    if dist.get_rank() == 0:
        Path(root, "latest.new").write_text(name)
        os.replace(Path(root, "latest.new"), Path(root, "latest"))
    save_shards(Path(root, name), state)


def latest_complete(root):
    pointer = Path(root, "latest")
    return Path(root, pointer.read_text()) if pointer.exists() else None
