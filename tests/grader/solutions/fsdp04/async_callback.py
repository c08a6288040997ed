"""Rank 0 commits in a callback of the writing's own Future; two threads write each rank's file."""


def save_async(root, state, group, previous):
    if previous is not None and not previous.done():
        previous.result()
    writing = os.path.join(root, f"writing-{state.step:06}")
    future = dcp.async_save(
        collect(state),
        storage_writer=dcp.FileSystemWriter(writing, thread_count=2),
        process_group=group,
    )
    if dist.get_rank() == 0:
        future.add_done_callback(lambda written: commit(written, writing))
    return future


def commit(written, writing):
    if written.exception() is None:
        write_record(writing)
        os.replace(writing, writing.replace("writing-", "step-"))
