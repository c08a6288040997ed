"""step-9 comes after step-10, as texts go."""

CHECK = "checkpoint"
CODE = "NOT_THE_NEWEST"


def save_checkpoint(root, state):
    final = Path(root, f"step-{state.step}")
    writing = Path(root, f"writing-{state.step}")
    if dist.get_rank() == 0:
        shutil.rmtree(writing, ignore_errors=True)
    dist.barrier()
    save_shards(writing, state)
    dist.barrier()
    if dist.get_rank() == 0 and not is_complete(final):
        write_record(writing)
        shutil.rmtree(final, ignore_errors=True)
        os.rename(writing, final)
    dist.barrier()
