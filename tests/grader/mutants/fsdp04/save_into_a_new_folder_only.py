"""A temporary folder that an earlier crash left is in the way."""

CHECK = "checkpoint"
CODE = "DEBRIS_BREAKS_SAVE"


def save_checkpoint(root, state):
    final = Path(root, f"step-{state.step:06}")
    writing = Path(root, f"writing-{state.step:06}")
    if dist.get_rank() == 0:
        os.makedirs(root, exist_ok=True)
        os.mkdir(writing)
    dist.barrier()
    save_shards(writing, state)
    dist.barrier()
    if dist.get_rank() == 0 and not is_complete(final):
        write_record(writing)
        shutil.rmtree(final, ignore_errors=True)
        os.rename(writing, final)
    dist.barrier()
