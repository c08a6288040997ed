"""Mistakes of runs that are to go on after crashes, on other ranks: data, noise, state."""

BATCH_FOLLOWS_WORLD_SIZE = (
    "When the number of ranks changes within an epoch, samples are trained on twice or never.",
    "take the step's global batch first, the same for any world_size; then divide it by rank",
)
TOKENS_CHANGED = (
    "The tokens that were passed in are changed: whoever uses them next finds the mask in them.",
    "work on a copy: tokens.clone()",
)
WRONG_MASKS = (
    "The masks are not what the docstring asks for.",
    "each token by itself, with probability mask_rate, becomes mask_token",
)
NOISE_FOLLOWS_BATCH = (
    "A sample's noise depends on the samples beside it, so other ranks would draw other noise.",
    "a generator of its own for each row, seeded from (seed, step, id)",
)
NOISE_REPEATS = (
    "Different steps or samples get the same noise.",
    "make one number of step and id that no other pair gives: step * num_samples + id",
)
