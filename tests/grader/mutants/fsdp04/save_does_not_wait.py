"""Each rank adds a file of its own; rank 0 gives the others a moment, and does not wait."""

import time

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
        time.sleep(0.4)
        write_record(writing)
        shutil.rmtree(final, ignore_errors=True)
        os.rename(writing, final)
    dist.barrier()
