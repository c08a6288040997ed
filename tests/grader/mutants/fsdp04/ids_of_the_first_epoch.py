"""Every epoch has the order of the first."""

CHECK = "sample_ids"
CODE = "NO_SET_EPOCH"


def sample_ids(step, rank, world_size, config):
    batch_size = config["global_batch_size"]
    place = step % (config["num_samples"] // batch_size)
    generator = torch.Generator().manual_seed(config["seed"])
    order = torch.randperm(config["num_samples"], generator=generator).tolist()
    return order[place * batch_size : (place + 1) * batch_size][rank::world_size]
