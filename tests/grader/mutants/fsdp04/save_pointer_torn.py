"""The file that names the newest is written in place: a crash leaves an empty one."""

CHECK = "checkpoint"
CODE = "LATEST_RAISES"


def save_checkpoint(root, state):
    name = f"step-{state.step:06}"
    save_shards(Path(root, name), state)
    dist.barrier()
    if dist.get_rank() == 0:
        write_record(Path(root, name))
        Path(root, "latest").write_text(name)
    dist.barrier()


def latest_complete(root):
    if not Path(root, "latest").exists():
        return None
    directory = Path(root, Path(root, "latest").read_text())
    assert is_complete(directory), f"{directory} is torn"
    return directory
