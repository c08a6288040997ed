"""A save does not wait for the one before."""

CHECK = "save_async"
CODE = "ASYNC_NOT_WAITED"


def save_async(root, state, group, previous):
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

    return ThreadPoolExecutor(1).submit(commit)
