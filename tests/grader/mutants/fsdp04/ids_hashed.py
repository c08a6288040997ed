"""The seed is the hash of a text, which is another one in every Python."""

CHECK = "sample_ids"
CODE = "NOT_DETERMINISTIC"


def sample_ids(step, rank, world_size, config):
    batch_size = config["global_batch_size"]
    epoch, place = divmod(step, config["num_samples"] // batch_size)
    seed = hash(f"{config['seed']} {epoch}") % 2**31
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(config["num_samples"], generator=generator).tolist()
    return order[place * batch_size : (place + 1) * batch_size][rank::world_size]
