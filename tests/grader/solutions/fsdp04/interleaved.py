"""Each rank's ids interleaved from the epoch; masks from one generator that is seeded anew."""


def sample_ids(step, rank, world_size, config):
    share = config["global_batch_size"] // world_size
    epoch, place = divmod(step, config["num_samples"] // config["global_batch_size"])
    generator = torch.Generator().manual_seed(7_919 * config["seed"] + epoch)
    own = torch.randperm(config["num_samples"], generator=generator)[rank::world_size]
    return own[place * share : (place + 1) * share]


def mask_tokens(tokens, ids, step, config):
    generator = torch.Generator()
    rows = []
    for number, sample_id in enumerate(ids):
        key = f"{config['seed']} {step} {int(sample_id)}".encode()
        seed = int.from_bytes(hashlib.sha256(key).digest()[:7], "big")
        noise = torch.rand(tokens.shape[1], generator=generator.manual_seed(seed))
        is_masked = noise >= 1 - config["mask_rate"]
        rows.append(torch.where(is_masked, config["mask_token"], tokens[number]))
    return torch.stack(rows)
