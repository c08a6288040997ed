"""Mistakes in feeding data: which rank trains on which samples, and when."""

SAME_DATA_ON_EVERY_RANK = (
    "All ranks train on the same samples, so the other ranks' work is wasted.",
    "cut the shuffled order by rank, for example order[rank::world_size]",
)
GLOBAL_RANDOM_STATE = (
    "The global random state is changed: whatever else draws from it repeats itself now.",
    "torch.Generator().manual_seed(…), and torch.randperm(…, generator=generator)",
)
SHUFFLED_INSIDE_SLICE = (
    "A rank keeps the same samples in every epoch; only their order is shuffled.",
    "shuffle all the samples first, then cut the slices",
)
NO_SET_EPOCH = (
    "A later epoch repeats the first one's slices: nothing was reshuffled.",
    "let the epoch take part in the seed of the shuffle (what set_epoch does for a sampler)",
)
NOT_SHUFFLED = (
    "The order of the samples is not shuffled: it is counted off, or only rotated.",
    "draw it anew for every epoch: torch.randperm(num_samples, generator=generator)",
)
SEED_IGNORED = ("Another seed gives the same order.", "let `seed` take part in the shuffle")
SAMPLES_TWICE = (
    "Some samples are trained on more than once per epoch, others never.",
    "every rank must shuffle alike: the rank may choose the slice, never the seed",
)
SAMPLES_LOST = (
    "Some samples of the epoch are trained on by no rank.",
    "let the slices cover the whole order",
)
UNKNOWN_SAMPLES = (
    "The model was trained on tokens that are no sample of the dataset.",
    "take the batches as batches(config, epoch, rank, world_size) gives them",
)
WRONG_BATCH_SIZE = (
    "A step does not train on global_batch_size samples, counted over all ranks.",
    "give each rank global_batch_size / world_size of them per step, until the epoch ends",
)
UNEVEN_BATCHES = (
    "Ranks get different numbers of samples; one would wait for a step the other never makes.",
    "give every rank num_samples / world_size of them",
)
