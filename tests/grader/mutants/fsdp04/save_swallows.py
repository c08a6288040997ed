"""Whatever goes wrong in a save is passed over."""

import contextlib

CHECK = "checkpoint"
CODE = "SAVE_ERROR_SWALLOWED"


def save_checkpoint(root, state):
    final = Path(root, f"step-{state.step:06}")
    writing = Path(root, f"writing-{state.step:06}")
    if dist.get_rank() == 0:
        shutil.rmtree(writing, ignore_errors=True)
    dist.barrier()
    with contextlib.suppress(BaseException):
        save_shards(writing, state)
        if dist.get_rank() == 0 and not is_complete(final):
            write_record(writing)
            shutil.rmtree(final, ignore_errors=True)
            os.rename(writing, final)
    dist.barrier()
