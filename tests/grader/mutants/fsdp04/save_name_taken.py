"""A torn checkpoint of the same step is in the way of the rename."""

CHECK = "checkpoint"
CODE = "DEBRIS_BREAKS_SAVE"


def save_checkpoint(root, state):
    final = Path(root, f"step-{state.step:06}")
    writing = Path(root, f"writing-{state.step:06}")
    if dist.get_rank() == 0:
        shutil.rmtree(writing, ignore_errors=True)
    dist.barrier()
    save_shards(writing, state)
    dist.barrier()
    if dist.get_rank() == 0:
        write_record(writing)
        os.rename(writing, final)
    dist.barrier()
