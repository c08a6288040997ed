"""The whole folder is removed, and what is beside it."""

CHECK = "checkpoint"
CODE = "NOT_COMMITTED"


def save_checkpoint(root, state):
    if dist.get_rank() == 0:
        shutil.rmtree(Path(root).parent)
    dist.barrier()
