"""What goes wrong in the thread ends there."""

CHECK = "save_async"
CODE = "ASYNC_ERROR_LOST"


def save_async(root, state, group, previous):
    if previous is not None:
        previous.result()
    final, writing = Path(root, f"step-{state.step:06}"), Path(root, f"async-{state.step:06}")
    if dist.get_rank() == 0:
        shutil.rmtree(writing, ignore_errors=True)
    dist.barrier()
    written = dcp.async_save(collect(state), checkpoint_id=writing, process_group=group)

    def commit():
        try:
            written.result()
        except BaseException:
            return
        if dist.get_rank() == 0:
            write_record(writing)
            os.rename(writing, final)
        dist.barrier(group)

    return ThreadPoolExecutor(1).submit(commit)
