"""What memory is held for: the categories of a rank's bytes, and its phases of a training step."""

import enum


class Category(enum.StrEnum):
    """What a storage is held for; the values are the keys of `palette.MEMORY`."""

    PARAMETERS = "parameters"  # what this rank keeps of them: its shards, padding included
    GRADIENTS = "gradients"
    OPTIMIZER = "optimizer"  # states, step counters, and copies of the weights that it updates
    ACTIVATIONS = "activations"  # what forward and the loss have produced, and is still alive
    UNSHARDED = "unsharded"  # parameters gathered whole, until they are freed again
    BUFFERS = "buffers"  # inputs and outputs of collectives
    OTHER = "other"  # batches, module buffers, and what backward and step need in passing


class Phase(enum.StrEnum):
    """Where a rank is in its training step."""

    INIT = "init"  # until the first forward begins
    FORWARD = "forward"  # a module that has parameters is called
    LOSS = "loss"  # from there until backward begins
    BACKWARD = "backward"
    STEP = "step"  # the optimizer's
    BETWEEN = "between"  # from there until the next forward begins


CATEGORIES = tuple(Category)
