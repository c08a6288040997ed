"""The seed is the sum of seed, step and id: step 1, id 3 gets the mask of step 3, id 1."""

CHECK = "mask_tokens"
CODE = "NOISE_REPEATS"


def mask_tokens(tokens, ids, step, config):
    masked = tokens.clone()
    for row, sample_id in zip(masked, ids, strict=True):
        generator = torch.Generator().manual_seed(config["seed"] + step + sample_id)
        row[torch.rand(len(row), generator=generator) < config["mask_rate"]] = config["mask_token"]
    return masked
