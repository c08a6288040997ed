"""The thread writes the weights that training changes."""

CHECK = "save_async"
CODE = "ASYNC_SNAPSHOT_RACE"


def save_async(root, state, group, previous):
    if previous is not None:
        previous.result()
    final, writing = Path(root, f"step-{state.step:06}"), Path(root, f"async-{state.step:06}")
    if dist.get_rank() == 0:
        shutil.rmtree(writing, ignore_errors=True)
    dist.barrier()
    state_dict = collect(state)

    def write_and_commit():
        dcp.save(state_dict, checkpoint_id=writing, process_group=group)
        if dist.get_rank() == 0:
            write_record(writing)
            os.rename(writing, final)
        dist.barrier(group)

    return ThreadPoolExecutor(1).submit(write_and_commit)
