"""The seed of the config takes no part."""

CHECK = "sample_ids"
CODE = "SEED_IGNORED"


def sample_ids(step, rank, world_size, config):
    batch_size = config["global_batch_size"]
    epoch, place = divmod(step, config["num_samples"] // batch_size)
    generator = torch.Generator().manual_seed(epoch)
    order = torch.randperm(config["num_samples"], generator=generator).tolist()
    return order[place * batch_size : (place + 1) * batch_size][rank::world_size]
