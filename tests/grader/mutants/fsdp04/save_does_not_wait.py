"""Each rank adds a file of its own, and rank 0 commits without waiting for the others'."""

CHECK = "checkpoint"
CODE = "TEMP_DIR_RACE"


def save_checkpoint(root, state):
    final = Path(root, f"step-{state.step:06}")
    writing = Path(root, f"writing-{state.step:06}")
    if dist.get_rank() == 0:
        shutil.rmtree(writing, ignore_errors=True)
    dist.barrier()
    save_shards(writing, state)
    if dist.get_rank() != 0:
        Path(writing, f"rank-{dist.get_rank()}.json").write_text(json.dumps({"step": state.step}))
    elif not is_complete(final):
        write_record(writing)
        shutil.rmtree(final, ignore_errors=True)
        os.rename(writing, final)
    dist.barrier()
