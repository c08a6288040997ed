"""One generator for the whole batch: a row's mask depends on its place in it."""

CHECK = "mask_tokens"
CODE = "NOISE_FOLLOWS_BATCH"


def mask_tokens(tokens, ids, step, config):
    generator = torch.Generator().manual_seed(1_000 * config["seed"] + step)
    is_masked = torch.rand(tokens.shape, generator=generator) < config["mask_rate"]
    return tokens.masked_fill(is_masked, config["mask_token"])
