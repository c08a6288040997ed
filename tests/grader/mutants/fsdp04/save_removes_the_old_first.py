"""The old checkpoint makes room before the new one is whole."""

CHECK = "checkpoint"
CODE = "NON_ATOMIC_SAVE"


def save_checkpoint(root, state):
    final = Path(root, f"step-{state.step:06}")
    writing = Path(root, f"writing-{state.step:06}")
    if dist.get_rank() == 0:
        for directory in Path(root).glob("*"):
            shutil.rmtree(directory)
    dist.barrier()
    save_shards(writing, state)
    dist.barrier()
    if dist.get_rank() == 0:
        write_record(writing)
        os.rename(writing, final)
    dist.barrier()
