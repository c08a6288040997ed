"""Every rank gets the whole global batch."""

CHECK = "sample_ids"
CODE = "WRONG_BATCH_SIZE"
NEXT_STEP = "return this rank's part of one step, and none of the others"


def sample_ids(step, rank, world_size, config):
    batch_size = config["global_batch_size"]
    epoch, place = divmod(step, config["num_samples"] // batch_size)
    generator = torch.Generator().manual_seed(1_000 * config["seed"] + epoch)
    order = torch.randperm(config["num_samples"], generator=generator).tolist()
    return order[place * batch_size : (place + 1) * batch_size]
