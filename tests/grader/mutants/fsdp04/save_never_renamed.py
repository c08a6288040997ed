"""What was written stays under its temporary name."""

CHECK = "checkpoint"
CODE = "NOT_COMMITTED"


def save_checkpoint(root, state):
    writing = Path(root, f"writing-{state.step:06}")
    save_shards(writing, state)
    if dist.get_rank() == 0:
        write_record(writing)
    dist.barrier()
