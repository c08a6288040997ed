"""The rank takes part in the seed of its batch."""

CHECK = "mask_tokens"
CODE = "NOISE_FOLLOWS_BATCH"


def mask_tokens(tokens, ids, step, config):
    generator = torch.Generator().manual_seed(1_000 * step + ids[0])
    is_masked = torch.rand(tokens.shape, generator=generator) < config["mask_rate"]
    return tokens.masked_fill(is_masked, config["mask_token"])
