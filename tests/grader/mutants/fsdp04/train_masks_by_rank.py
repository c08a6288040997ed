"""The masks are drawn from a generator of the rank's."""

CHECK = "train"
CODE = "NOISE_FOLLOWS_BATCH"


def mask_tokens(tokens, ids, step, config):
    generator = torch.Generator().manual_seed(1_000 * step + dist.get_rank())
    is_masked = torch.rand(tokens.shape, generator=generator) < config["mask_rate"]
    return tokens.masked_fill(is_masked, config["mask_token"])
