"""A file names the newest, replaced in one go; if what it names is torn, the others are tried."""

import copy
import functools
import uuid


def save_checkpoint(root, state):
    names = [f"{state.step:09}-{uuid.uuid4().hex[:8]}"]
    dist.broadcast_object_list(names)
    directory = Path(root, "checkpoints", names[0])
    save_shards(directory, state)
    everyone = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, "done")
    if dist.get_rank() == 0:
        write_record(directory)
        Path(root, "LATEST.new").write_text(names[0])
        os.replace(Path(root, "LATEST.new"), Path(root, "LATEST"))
    dist.barrier()


def latest_complete(root):
    try:
        named = Path(root, "checkpoints", Path(root, "LATEST").read_text())
    except OSError:
        return None
    others = sorted(Path(root, "checkpoints").iterdir(), reverse=True)
    return next((path for path in [named, *others] if is_complete(path)), None)


def keep_newest(root, num_kept):
    kept = 0
    for path in sorted(Path(root, "checkpoints").glob("*"), reverse=True):
        if not is_complete(path):
            continue
        kept += 1
        if kept > num_kept:
            os.replace(path, path.with_suffix(".old"))
            shutil.rmtree(path.with_suffix(".old"))


@functools.cache
def queue():
    return ThreadPoolExecutor(max_workers=1)


def save_async(root, state, group, previous):
    return queue().submit(save_next, copy.deepcopy(collect(state)), root, state.step, group)


def save_next(state_dict, root, step, group):
    names = [f"{step:09}-{uuid.uuid4().hex[:8]}"]
    dist.broadcast_object_list(names, group=group)
    directory = Path(root, "checkpoints", names[0])
    dcp.save(state_dict, checkpoint_id=directory, process_group=group)
    if dist.get_rank() == 0:
        write_record(directory)
        Path(root, "LATEST.new").write_text(names[0])
        os.replace(Path(root, "LATEST.new"), Path(root, "LATEST"))
    done = torch.zeros(1)
    dist.all_reduce(done, group=group)
