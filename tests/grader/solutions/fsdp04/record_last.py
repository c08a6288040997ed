"""No temporary directory: the record is renamed in last, and nothing counts without it."""

from torch.utils._pytree import tree_map_only


def _number(path):
    return int(path.name.removeprefix("ckpt_"))


def write_record(directory):
    new = Path(directory, "record.json.new")
    new.write_text(json.dumps(describe_files(directory)))
    os.replace(new, Path(directory, "record.json"))


def describe_files(directory):
    files = {}
    for path in Path(directory).rglob("*"):
        if path.is_file() and not path.name.startswith("record.json"):
            content = path.read_bytes()
            digest = hashlib.sha256(content).hexdigest()
            files[str(path.relative_to(directory))] = [len(content), digest]
    return files


def save_checkpoint(root, state):
    directory = Path(root, f"ckpt_{state.step}")
    clean = [None]
    if dist.get_rank() == 0:
        if directory.exists() and not is_complete(directory):
            os.replace(directory, Path(root, f"torn_{state.step}_{os.getpid()}"))
        clean = [is_complete(directory)]
    dist.broadcast_object_list(clean)
    if clean[0]:
        return
    save_shards(directory, state)
    done = torch.ones(())
    dist.all_reduce(done)
    if dist.get_rank() == 0:
        write_record(directory)
    dist.all_reduce(done)


def latest_complete(root):
    if not Path(root).is_dir():
        return None
    numbered = [path for path in Path(root).iterdir() if path.name.startswith("ckpt_")]
    complete = [path for path in numbered if is_complete(path)]
    return str(max(complete, key=_number)) if complete else None


def keep_newest(root, num_kept):
    numbered = [path for path in Path(root).glob("ckpt_*") if is_complete(path)]
    newest = sorted(numbered, key=_number)[-num_kept:]
    for path in Path(root).glob("*_*"):
        if path not in newest and newest:
            shutil.rmtree(path)


def save_async(root, state, group, previous):
    if previous:
        previous.result()
    directory = os.path.join(root, f"ckpt_{state.step}")
    copied = tree_map_only(torch.Tensor, lambda tensor: tensor.detach().clone(), collect(state))
    executor = ThreadPoolExecutor(max_workers=1)
    future = executor.submit(_write, copied, directory, group)
    executor.shutdown(wait=False)
    return future


def _write(state_dict, directory, group):
    if dist.get_rank(group) == 0:
        shutil.rmtree(directory, ignore_errors=True)
    dist.barrier(group)
    dcp.save(state_dict, checkpoint_id=directory, process_group=group)
    if dist.get_rank(group) == 0:
        write_record(directory)
    dist.barrier(group)
