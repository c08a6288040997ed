"""Each rank walks through its own part of the epoch."""

CHECK = "train"
CODE = "BATCH_FOLLOWS_WORLD_SIZE"


def sample_ids(step, rank, world_size, config):
    share = config["global_batch_size"] // world_size
    epoch, place = divmod(step, config["num_samples"] // config["global_batch_size"])
    generator = torch.Generator().manual_seed(1_000 * config["seed"] + epoch)
    order = torch.randperm(config["num_samples"], generator=generator).tolist()
    num_own = config["num_samples"] // world_size
    own = order[rank * num_own : (rank + 1) * num_own]
    return own[place * share : (place + 1) * share]
