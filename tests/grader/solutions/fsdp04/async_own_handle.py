"""A handle of its own around a plain thread; every rank waits on a broadcast for the commit."""

import threading


class Saving(threading.Thread):
    def __init__(self, staged, root, step, group):
        super().__init__(daemon=True)
        self.staged, self.root, self.step, self.group = staged, Path(root), step, group
        self.error = None
        self.start()

    def run(self):
        try:
            self.save()
        except BaseException as error:
            self.error = error

    def save(self):
        writing = self.root / f"tmp-{self.step}"
        dcp.save(self.staged, checkpoint_id=writing, process_group=self.group)
        if dist.get_rank() == 0:
            write_record(writing)
            os.rename(writing, self.root / f"step-{self.step:06}")
        dist.broadcast_object_list([self.step], src=0, group=self.group)

    def done(self):
        return not self.is_alive()

    def result(self):
        self.join()
        if self.error is not None:
            raise self.error


def save_async(root, state, group, previous):
    if previous is not None:
        previous.result()
    stager = dcp.staging.BlockingAsyncStager()
    return Saving(stager.stage(collect(state)), root, state.step, group)
