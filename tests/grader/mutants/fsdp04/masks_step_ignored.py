"""A sample has the same mask in every epoch."""

CHECK = "mask_tokens"
CODE = "NOISE_REPEATS"


def mask_tokens(tokens, ids, step, config):
    masked = tokens.clone()
    for row, sample_id in zip(masked, ids, strict=True):
        generator = torch.Generator().manual_seed(1_000 * config["seed"] + sample_id)
        row[torch.rand(len(row), generator=generator) < config["mask_rate"]] = config["mask_token"]
    return masked
