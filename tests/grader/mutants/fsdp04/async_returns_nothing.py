"""No Future is returned."""

CHECK = "save_async"
CODE = "WRONG_RESULT"
NEXT_STEP = "it returned None: did you forget `return`?"


def save_async(root, state, group, previous):
    if previous is not None:
        previous.result()
    final, writing = Path(root, f"step-{state.step:06}"), Path(root, f"async-{state.step:06}")
    if dist.get_rank() == 0:
        shutil.rmtree(writing, ignore_errors=True)
    dist.barrier()
    written = dcp.async_save(collect(state), checkpoint_id=writing, process_group=group)

    def commit():
        written.result()
        if dist.get_rank() == 0:
            write_record(writing)
            os.rename(writing, final)
        dist.barrier(group)

    ThreadPoolExecutor(1).submit(commit)
