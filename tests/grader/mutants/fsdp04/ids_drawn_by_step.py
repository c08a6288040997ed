"""Every step draws its batch anew: some samples come twice in an epoch, others never."""

CHECK = "sample_ids"
CODE = "SAMPLES_TWICE"


def sample_ids(step, rank, world_size, config):
    generator = torch.Generator().manual_seed(1_000 * config["seed"] + step)
    order = torch.randperm(config["num_samples"], generator=generator).tolist()
    return order[: config["global_batch_size"]][rank::world_size]
