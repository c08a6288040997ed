"""Mistakes in training: the model and optimizer made for it, and each of its steps."""

# -- building the training state ------------------------------------------------------------------

WRONG_MODEL = (
    "The model is not the one that config describes.",
    'make it from the argument: toys.Transformer(**config["model"])',
)
CONFIG_CHANGED = (
    "build changes the config that it is given, and others go on to use it.",
    'read it: config["model"], not config.pop("model")',
)
OPTIMIZER_INCOMPLETE = (
    "The optimizer holds a part of the model's parameters, so the others never move.",
    "create it from all of model.parameters()",
)
OPTIMIZER_BEFORE_SHARD = (
    "The optimizer holds the parameters from before sharding; the model's never move.",
    "shard first, then create the optimizer from model.parameters()",
)
WRONG_OPTIMIZER = (
    "The optimizer is not the AdamW that the docstring asks for.",
    'use torch.optim.AdamW with lr=config["lr"], all else as torch has it',
)

# -- one training step ----------------------------------------------------------------------------

LOW_PRECISION = (
    "The number agrees only to the 7 digits of float32; the model's is float64.",
    "keep the dtype: reduce loss.detach().clone(), not a new torch.tensor(…)",
)
FOREIGN_SAMPLES = (
    "A rank trains on samples of another rank, so that work is done twice.",
    "give the model the tokens of this rank as they come; FSDP2 averages the gradients",
)
SWAPPED = ("The two numbers are swapped.", "return (loss, grad_norm), in this order")
WRONG_LOSS = (
    "The loss is not the mean over the whole batch.",
    "average the ranks' losses: all_reduce with ReduceOp.AVG, on a detached copy",
)
LOCAL_LOSS = (
    "Each rank returns the loss of its own samples only.",
    "average it over the ranks: all_reduce with ReduceOp.AVG, on a detached copy",
)
LOSS_SUMMED = (
    "The ranks' losses were added up, not averaged.",
    "use ReduceOp.AVG, or divide by world_size",
)
GRADIENTS_SUMMED = (
    "Gradients are added up over the ranks, not averaged: world_size times too large.",
    "leave the averaging to FSDP2 (it divides by world_size), and scale nothing yourself",
)
GRADIENTS_AVERAGED_TWICE = (
    "Gradients are divided by world_size twice: world_size times too small.",
    "FSDP2 averages them over the ranks already: divide neither the loss nor a gradient",
)
SHARDS_ALL_REDUCED = (
    "An all_reduce over shards: each rank's are other rows, and adding them up mixes these.",
    "delete it: FSDP2 has averaged the gradients in backward; all that is left is the loss",
)
GRADIENTS_ACCUMULATED = (
    "The second step's gradient still contains the first step's.",
    "call optimizer.zero_grad() once in every step",
)
WRONG_GRADIENT = (
    "A gradient differs from the one-process run on the whole batch.",
    "backward the mean loss of this rank's samples, once per step, and scale nothing",
)
NO_GRADIENT = (
    "No gradient was there when the optimizer stepped.",
    "keep the order: backward(), clip, step(); call zero_grad() before or after all three",
)
LOCAL_GRAD_NORM = (
    "The gradient norm is that of one rank's shard, not of the whole gradient.",
    "give the sharded gradients (DTensors) to torch.nn.utils.clip_grad_norm_ as they are",
)
NORM_AFTER_CLIP = (
    "The norm is that of the clipped gradient.",
    "return what clip_grad_norm_ returns: the norm before clipping",
)
WRONG_GRAD_NORM = (
    "The gradient norm differs from the one-process run on the whole batch.",
    "take it over all parameters at once, after backward and before clipping",
)
NOT_CLIPPED = (
    "The optimizer stepped on a gradient longer than max_norm.",
    "clip after backward and before optimizer.step()",
)
NO_STEP = ("The optimizer did not step.", "call optimizer.step() once in every train step")
MODEL_NOT_KEPT = (
    "An epoch does not begin with the weights that the one before it ended with.",
    "build model and optimizer once, before the loop over the epochs",
)
WRONG_WEIGHTS = (
    "After the step a weight differs from the one-process run on the whole batch.",
    "step once per batch, with the optimizer you were given, and change no weight yourself",
)
