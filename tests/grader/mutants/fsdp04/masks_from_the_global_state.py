"""The masks are drawn from the rank's global random state."""

CHECK = "mask_tokens"
CODE = "NOT_DETERMINISTIC"


def mask_tokens(tokens, ids, step, config):
    is_masked = torch.rand(tokens.shape) < config["mask_rate"]
    return tokens.masked_fill(is_masked, config["mask_token"])
