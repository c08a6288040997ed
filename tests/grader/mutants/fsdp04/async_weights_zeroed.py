"""Moments are saved; the weights are not those of the state."""

CHECK = "save_async"
CODE = "WEIGHTS_NOT_RESTORED"


def save_async(root, state, group, previous):
    if previous is not None:
        previous.result()
    final, writing = Path(root, f"step-{state.step:06}"), Path(root, f"async-{state.step:06}")
    if dist.get_rank() == 0:
        shutil.rmtree(writing, ignore_errors=True)
    dist.barrier()
    state_dict = collect(state)
    state_dict["model"] = {name: weight.neg() for name, weight in state_dict["model"].items()}
    written = dcp.async_save(state_dict, checkpoint_id=writing, process_group=group)

    def commit():
        written.result()
        if dist.get_rank() == 0:
            write_record(writing)
            os.rename(writing, final)
        dist.barrier(group)

    return ThreadPoolExecutor(1).submit(commit)
