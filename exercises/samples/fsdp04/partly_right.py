"""Masks from the global random state, sizes without hashes, and a save in place."""


def mask_tokens(tokens, ids, step, config):
    is_masked = torch.rand(tokens.shape) < config["mask_rate"]
    return tokens.masked_fill(is_masked, config["mask_token"])


def describe_files(directory):
    return {
        str(path.relative_to(directory)): path.stat().st_size
        for path in Path(directory).rglob("*")
        if path.is_file() and path.name != "record.json"
    }


def save_checkpoint(root, state):
    directory = Path(root, "checkpoint")
    save_shards(directory, state)
    if dist.get_rank() == 0:
        write_record(directory)
    dist.barrier()


def latest_complete(root):
    directory = Path(root, "checkpoint")
    return directory if is_complete(directory) else None
