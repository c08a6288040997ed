"""The state is collected in the thread, when it comes to it."""

CHECK = "save_async"
CODE = "ASYNC_SNAPSHOT_RACE"


def save_async(root, state, group, previous):
    if previous is not None:
        previous.result()
    final, writing = Path(root, f"step-{state.step:06}"), Path(root, f"async-{state.step:06}")
    if dist.get_rank() == 0:
        shutil.rmtree(writing, ignore_errors=True)
    dist.barrier()

    def write_and_commit():
        dcp.save(collect(state), checkpoint_id=writing, process_group=group)
        if dist.get_rank() == 0:
            write_record(writing)
            os.rename(writing, final)
        dist.barrier(group)

    return ThreadPoolExecutor(1).submit(write_and_commit)
