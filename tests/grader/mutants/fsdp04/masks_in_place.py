"""The tokens themselves are masked."""

CHECK = "mask_tokens"
CODE = "TOKENS_CHANGED"


def mask_tokens(tokens, ids, step, config):
    for row, sample_id in zip(tokens, ids, strict=True):
        number = (config["seed"] * 1_000 + step) * config["num_samples"] + sample_id
        generator = torch.Generator().manual_seed(number)
        row[torch.rand(len(row), generator=generator) < config["mask_rate"]] = config["mask_token"]
    return tokens
