"""Nothing is committed until somebody asks for the result."""

CHECK = "save_async"
CODE = "ASYNC_COMMITTED_LATE"


class Saving:
    def __init__(self, written, writing, final):
        self.written, self.writing, self.final = written, writing, final

    def done(self):
        return self.written.done()

    def result(self):
        self.written.result()
        if dist.get_rank() == 0 and self.writing.exists():
            write_record(self.writing)
            os.rename(self.writing, self.final)
        dist.barrier()


def save_async(root, state, group, previous):
    if previous is not None:
        previous.result()
    final, writing = Path(root, f"step-{state.step:06}"), Path(root, f"async-{state.step:06}")
    if dist.get_rank() == 0:
        shutil.rmtree(writing, ignore_errors=True)
    dist.barrier()
    written = dcp.async_save(collect(state), checkpoint_id=writing, process_group=group)
    return Saving(written, writing, final)
