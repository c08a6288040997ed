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
DATALOADER_STATE_LOST = (
    "The position in the data is lost: samples are trained on twice, or never.",
    "all data follows from the step: save state.step, and set it again when loading",
)
SCHEDULER_NOT_RESTORED = (
    "The learning rate does not go on where it was: the schedule started anew.",
    "save scheduler.state_dict(), and give it to scheduler.load_state_dict when loading",
)
RNG_NOT_RESTORED = (
    "As many ranks load as saved, and a rank's random state is not the one that it saved.",
    "save torch.get_rng_state() of each rank; torch.set_rng_state when loading",
)
RNG_NOT_RESHARDED = (
    "Ranks share one random state: their dropout would be the same.",
    "one entry per rank, under a key that names it: dcp stores what has the same key once",
)
RANK_ENTRY_MISSING = (
    "A rank asks the checkpoint for an entry that only a rank of that number could have saved.",
    "where other numbers of ranks load, leave such entries out: allow_partial_load=True",
)
RESUME_FROM_STEP_0 = (
    "The run starts anew, though there is a checkpoint.",
    "ask latest_complete(root) before the first step, and load what it returns",
)
TOO_MUCH_REDONE = (
    "More steps are done again than since the last save that was due.",
    "save after every save_every steps, and load the newest complete checkpoint",
)
SAVED_AT_OTHER_STEPS = (
    "A generation goes on from a step after which no save was due.",
    "save when state.step is a multiple of save_every, counted from 0 in every generation",
)
WRONG_NUM_STEPS = (
    "The run does not end after num_steps steps, counted over all generations.",
    "while state.step < config['num_steps']: state.step counts on from the checkpoint",
)
LAST_STEP_NOT_SAVED = (
    "When the run is finished, its last steps are in no checkpoint.",
    "save after the last step too",
)
SCHEDULER_TIMES_N = (
    "The learning rate is not the one that the schedule gives for this step.",
    "one scheduler.step() per optimizer step on each rank, whatever the number of ranks",
)
LOADED_BY_SOME_RANKS = (
    "Some ranks load the checkpoint, and the others begin to train without it.",
    "every rank loads; if rank 0 looks for the newest one, it tells the others: broadcast",
)
