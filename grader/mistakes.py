"""The mistakes that the grader names: stable codes, what each means, what to do next."""

from enum import Enum


class Mistake(Enum):
    """A mistake's code is its name; its value says what it is and what to try next."""

    def __init__(self, meaning: str, next_step: str) -> None:
        self.meaning = meaning
        self.next_step = next_step

    # -- any exercise -------------------------------------------------------------------------
    NOT_A_FUNCTION = (
        "The answer is not a function.",
        "define it with def, under the name in the text; do not call it or assign over it",
    )
    RAISED = ("The function raised an exception.", "read the line named above; fix it, run again")
    WRONG_RESULT = (
        "What the function returns is not what its docstring asks for.",
        "read the docstring's first line; return exactly that",
    )
    NOT_DETERMINISTIC = (
        "Two calls with the same arguments gave different answers.",
        "seed a torch.Generator of your own from the arguments; no global randomness, no hash()",
    )
    TIMED_OUT = (
        "The check ran out of time, and no deadlock is proven.",
        "look for a loop that does not end at the line named above",
    )
    NOT_REACHED = (
        "The check ran out of time while nothing of yours was running.",
        "run the check again; close other programs if the machine is busy",
    )
    RANK_DIED = (
        "A rank's process ended before the function returned.",
        "do not call exit functions in a rank; raise an exception instead",
    )
    CANNOT_RUN = ("The function could not be sent to the ranks.", "do what the hint above says")
    DEADLOCK = (
        "Ranks wait for a collective that another rank never issues.",
        "let every rank of the group make the same collective calls, in the same order",
    )
    COLLECTIVE_ORDER_OR_SHAPE_MISMATCH = (
        "Ranks of one group issued different collectives at the same place.",
        "compare the lines named above: operation, size, dtype and order must agree on every rank",
    )

    # -- who holds which rows ------------------------------------------------------------------
    ROWS_LOST = (
        "Some rows are held by no rank.",
        "round the number of rows per rank up, not down: ceil(num_rows / world_size)",
    )
    ROWS_TWICE = ("Some rows are held by two ranks.", "start a rank's rows where the last stopped")
    BALANCED_SPLIT = (
        "Every row is held once, but not by the rank that FSDP2 gives it to.",
        "FSDP2 cuts as torch.chunk does: full shares first, what is left last, perhaps nothing",
    )

    # -- sharding a model ----------------------------------------------------------------------
    NOT_WRAPPED = (
        "The model is not sharded: its parameters are still whole, plain tensors on every rank.",
        "call fully_shard on each block, then on the model",
    )
    ROOT_ONLY_WRAP = (
        "Only the root is a unit, so one all-gather brings the whole model into memory at once.",
        "call fully_shard on each block of model.blocks before you call it on the model",
    )
    ROOT_WRAPPED_FIRST = (
        "The root was sharded before the blocks, so it took their parameters and left them none.",
        "work from the inside out: first every block, then the model",
    )
    BLOCK_NOT_WRAPPED = (
        "A block is not a unit of its own; its parameters belong to the unit around it.",
        "loop over all of model.blocks, however many there are",
    )
    ROOT_NOT_WRAPPED = (
        "The root is not a unit, so what lies outside the blocks stays whole on every rank.",
        "after the blocks, call fully_shard on the model itself",
    )
    TIED_WEIGHTS_SPLIT = (
        "The embedding and the head share one weight, but were put into two units.",
        "leave both to the root, or give them to one unit: fully_shard([embedding, head])",
    )
    REPLICATED = (
        "A rank holds more than its share: the parameters are there, but not sharded.",
        "shard over all ranks of the mesh you were given, and keep no second copy",
    )
    WRONG_SHARD = (
        "A rank's shard is not its torch.chunk share of the parameter.",
        "shard dim 0 over the whole mesh, which is what fully_shard does if you let it",
    )
    WRONG_COLLECTIVES = (
        "The collectives of one step are not those of the model's units.",
        "let the units' own hooks gather and reduce; issue no collective by hand",
    )
    FORWARD_BYPASS = (
        "The model's forward ran without its hooks, so its parameters were still sharded.",
        "call model(tokens), not model.forward(tokens) and not a part of the model",
    )
    SHARDED_STATE_CORRUPT = (
        "A shard's values are not the model's rows.",
        "shard the model you were given, without changing its weights",
    )

    # -- one training step ---------------------------------------------------------------------
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
    WRONG_WEIGHTS = (
        "After the step a weight differs from the one-process run on the whole batch.",
        "step once per batch, with the optimizer you were given, and change no weight yourself",
    )

    # -- building the training state -------------------------------------------------------------
    WRONG_MODEL = (
        "The model is not the one that config describes.",
        'make it from the argument: toys.Transformer(**config["model"])',
    )
    OPTIMIZER_BEFORE_SHARD = (
        "The optimizer holds the parameters from before sharding; the model's never move.",
        "shard first, then create the optimizer from model.parameters()",
    )
    WRONG_OPTIMIZER = (
        "The optimizer is not the AdamW that the docstring asks for.",
        'use torch.optim.AdamW with lr=config["lr"], all else as torch has it',
    )

    # -- data ------------------------------------------------------------------------------------
    SAME_DATA_ON_EVERY_RANK = (
        "All ranks train on the same samples, so the other ranks' work is wasted.",
        "cut the shuffled order by rank, for example order[rank::world_size]",
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

    # -- checkpoints -----------------------------------------------------------------------------
    RANK0_ONLY_STATE_DICT = (
        "Only some ranks take part in collecting the state, which needs every rank.",
        "call get_state_dict and dcp.save on every rank; decide by rank only what to write",
    )
    LOCAL_SHARD_TORCH_SAVE = (
        "The checkpoint is one rank's shards per file, so no other world_size can load it.",
        "let torch.distributed.checkpoint write it: it stores where each shard belongs",
    )
    WEIGHTS_NOT_RESTORED = (
        "After loading, a weight is not the one that was saved.",
        "load into the model's state dict, then set it: set_state_dict",
    )
    OPTIM_NOT_RESTORED = (
        "The weights came back, the optimizer's moments or its settings did not.",
        "save and load its whole state; get_state_dict gives a fresh AdamW its empty moments",
    )
    RESUME_FROM_EPOCH_0 = (
        "The run does not go on where the checkpoint was taken.",
        "store next_epoch in the checkpoint, return it when loading, and start the loop there",
    )

    # -- Ray Train -------------------------------------------------------------------------------
    RANK0_ONLY_REPORT = (
        "The ranks call ray.train.report different numbers of times; it waits for all of them.",
        "call it on every rank, once per epoch, outside any `if rank == 0`",
    )
    TOO_MANY_REPORTS = (
        "The loop calls ray.train.report more than once in an epoch.",
        "call it once, after the epoch's last step, with the metrics of that step",
    )
    METRIC_MISSING = ("A metric is missing or not a number.", "report what the docstring lists")
    NO_CHECKPOINT = (
        "No complete checkpoint reached the storage path.",
        "every rank hands ray.train.report a Checkpoint of the directory that it saved into",
    )
    NOT_A_TRAINER = ("make_trainer returns no TorchTrainer.", "return the TorchTrainer you create")
    WRONG_NUM_WORKERS = (
        "The trainer does not start the number of workers that was asked for.",
        "pass the argument on: ScalingConfig(num_workers=num_workers)",
    )
    WRONG_BACKEND = (
        "The workers would not talk over gloo.",
        'pass torch_config=TorchConfig(backend="gloo"), and use_gpu=False',
    )
    STORAGE_PATH_UNUSED = (
        "Checkpoints would not go where make_trainer was told to put them.",
        "pass the argument on: RunConfig(storage_path=storage_path)",
    )

    # -- bytes -----------------------------------------------------------------------------------
    PADDING_FORGOTTEN = (
        "The padding is missing: what is sent is a multiple of world_size.",
        "count ceil(rows / world_size) * world_size rows",
    )
    FLAT_PADDING = (
        "The padding is that of FSDP1, which pads the sum of all elements.",
        "FSDP2 pads rows: round dim 0 up to a multiple of world_size",
    )
    BACKWARD_GATHER_FORGOTTEN = (
        "FULL_SHARD frees a block's weights after forward, so backward gathers them again.",
        "count a block three times: two all-gathers and one reduce-scatter",
    )
    ROOT_GATHERED_TWICE = (
        "The root keeps its weights after forward, because backward needs them first.",
        "count the root twice, also under FULL_SHARD: one all-gather and one reduce-scatter",
    )
    RING_FACTOR_MISSING = (
        "A rank does not send the whole tensor: its own part is there already.",
        "multiply by (world_size - 1) / world_size",
    )
    ALL_REDUCE_COUNTED_ONCE = (
        "An all-reduce is a reduce-scatter and an all-gather: it sends twice.",
        "count DDP's gradients twice",
    )
    DDP_PADDED = ("DDP shards nothing, so it pads nothing.", "use the plain sizes for DDP")
    ESTIMATE_WRONG = (
        "The prediction does not match what the ranks sent.",
        "go through one step by hand: which collectives, of how many bytes, what each rank sends",
    )

    # -- hybrid sharding -------------------------------------------------------------------------
    NOT_HYBRID = (
        "The parameters are not sharded in one axis of the mesh and replicated in the other.",
        "give fully_shard a two-dimensional mesh with named axes",
    )
    HYBRID_AXES_SWAPPED = (
        "The mesh's axes are swapped: FSDP2 replicates over the first and shards over the second.",
        "build the mesh with shape (num_replicas, num_shards)",
    )
