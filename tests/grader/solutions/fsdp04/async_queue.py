"""One worker writes save after save, each waiting in the queue for the one before."""

import copy
import functools


@functools.cache
def queue():
    return ThreadPoolExecutor(max_workers=1)


def save_async(root, state, group, previous):
    copied = copy.deepcopy(collect(state))
    return queue().submit(write_next, copied, Path(root), state.step, group)


def write_next(state_dict, root, step, group):
    writing = root / f".{step}.writing"
    dcp.save(state_dict, checkpoint_id=writing, process_group=group)
    if dist.get_rank() == 0:
        write_record(writing)
        writing.rename(root / f"step-{step:06}")
    done = torch.zeros(1)
    dist.all_reduce(done, group=group)
