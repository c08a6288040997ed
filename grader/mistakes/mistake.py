"""Every mistake that the grader names, in one Enum: a stable code, and its topic's texts."""

from enum import Enum, unique

from grader.mistakes import (
    checkpointing,
    counting_bytes,
    ray_training,
    running,
    sampling,
    sharding,
    training,
)


@unique
class Mistake(Enum):
    """A mistake's code is its name; its value says what it is and what to try next."""

    def __init__(self, meaning: str, next_step: str) -> None:
        self.meaning = meaning
        self.next_step = next_step

    # running
    NOT_A_FUNCTION = running.NOT_A_FUNCTION
    WRONG_SIGNATURE = running.WRONG_SIGNATURE
    USES_THE_GRADER = running.USES_THE_GRADER
    RAISED = running.RAISED
    WRONG_RESULT = running.WRONG_RESULT
    NOT_A_NUMBER = running.NOT_A_NUMBER
    NOT_DETERMINISTIC = running.NOT_DETERMINISTIC
    TIMED_OUT = running.TIMED_OUT
    NOT_REACHED = running.NOT_REACHED
    RANK_DIED = running.RANK_DIED
    CANNOT_RUN = running.CANNOT_RUN
    DEADLOCK = running.DEADLOCK
    COLLECTIVE_ORDER_OR_SHAPE_MISMATCH = running.COLLECTIVE_ORDER_OR_SHAPE_MISMATCH
    # sharding
    ROWS_LOST = sharding.ROWS_LOST
    ROWS_BEYOND = sharding.ROWS_BEYOND
    SAME_ROWS = sharding.SAME_ROWS
    ROWS_TWICE = sharding.ROWS_TWICE
    REST_TO_LAST_RANK = sharding.REST_TO_LAST_RANK
    BALANCED_SPLIT = sharding.BALANCED_SPLIT
    NOT_WRAPPED = sharding.NOT_WRAPPED
    ROOT_ONLY_WRAP = sharding.ROOT_ONLY_WRAP
    ROOT_WRAPPED_FIRST = sharding.ROOT_WRAPPED_FIRST
    NOT_IN_PLACE = sharding.NOT_IN_PLACE
    BLOCK_NOT_WRAPPED = sharding.BLOCK_NOT_WRAPPED
    NOT_RESHARDED = sharding.NOT_RESHARDED
    ROOT_NOT_WRAPPED = sharding.ROOT_NOT_WRAPPED
    TIED_WEIGHTS_SPLIT = sharding.TIED_WEIGHTS_SPLIT
    REPLICATED = sharding.REPLICATED
    WRONG_SHARD = sharding.WRONG_SHARD
    WRONG_COLLECTIVES = sharding.WRONG_COLLECTIVES
    FORWARD_BYPASS = sharding.FORWARD_BYPASS
    SHARDED_STATE_CORRUPT = sharding.SHARDED_STATE_CORRUPT
    NOT_HYBRID = sharding.NOT_HYBRID
    HYBRID_AXES_SWAPPED = sharding.HYBRID_AXES_SWAPPED
    # training
    WRONG_MODEL = training.WRONG_MODEL
    CONFIG_CHANGED = training.CONFIG_CHANGED
    OPTIMIZER_INCOMPLETE = training.OPTIMIZER_INCOMPLETE
    OPTIMIZER_BEFORE_SHARD = training.OPTIMIZER_BEFORE_SHARD
    WRONG_OPTIMIZER = training.WRONG_OPTIMIZER
    LOW_PRECISION = training.LOW_PRECISION
    FOREIGN_SAMPLES = training.FOREIGN_SAMPLES
    SWAPPED = training.SWAPPED
    WRONG_LOSS = training.WRONG_LOSS
    LOCAL_LOSS = training.LOCAL_LOSS
    LOSS_SUMMED = training.LOSS_SUMMED
    GRADIENTS_SUMMED = training.GRADIENTS_SUMMED
    GRADIENTS_AVERAGED_TWICE = training.GRADIENTS_AVERAGED_TWICE
    SHARDS_ALL_REDUCED = training.SHARDS_ALL_REDUCED
    GRADIENTS_ACCUMULATED = training.GRADIENTS_ACCUMULATED
    WRONG_GRADIENT = training.WRONG_GRADIENT
    NO_GRADIENT = training.NO_GRADIENT
    LOCAL_GRAD_NORM = training.LOCAL_GRAD_NORM
    NORM_AFTER_CLIP = training.NORM_AFTER_CLIP
    WRONG_GRAD_NORM = training.WRONG_GRAD_NORM
    NOT_CLIPPED = training.NOT_CLIPPED
    NO_STEP = training.NO_STEP
    MODEL_NOT_KEPT = training.MODEL_NOT_KEPT
    WRONG_WEIGHTS = training.WRONG_WEIGHTS
    # sampling
    SAME_DATA_ON_EVERY_RANK = sampling.SAME_DATA_ON_EVERY_RANK
    GLOBAL_RANDOM_STATE = sampling.GLOBAL_RANDOM_STATE
    SHUFFLED_INSIDE_SLICE = sampling.SHUFFLED_INSIDE_SLICE
    NO_SET_EPOCH = sampling.NO_SET_EPOCH
    NOT_SHUFFLED = sampling.NOT_SHUFFLED
    SEED_IGNORED = sampling.SEED_IGNORED
    SAMPLES_TWICE = sampling.SAMPLES_TWICE
    SAMPLES_LOST = sampling.SAMPLES_LOST
    UNKNOWN_SAMPLES = sampling.UNKNOWN_SAMPLES
    WRONG_BATCH_SIZE = sampling.WRONG_BATCH_SIZE
    UNEVEN_BATCHES = sampling.UNEVEN_BATCHES
    # checkpointing
    RANK0_ONLY_STATE_DICT = checkpointing.RANK0_ONLY_STATE_DICT
    LOCAL_SHARD_TORCH_SAVE = checkpointing.LOCAL_SHARD_TORCH_SAVE
    WEIGHTS_NOT_RESTORED = checkpointing.WEIGHTS_NOT_RESTORED
    SAVED_ELSEWHERE = checkpointing.SAVED_ELSEWHERE
    SAVE_NOT_AWAITED = checkpointing.SAVE_NOT_AWAITED
    OPTIM_NOT_RESTORED = checkpointing.OPTIM_NOT_RESTORED
    EPOCH_REPEATED = checkpointing.EPOCH_REPEATED
    RESUME_FROM_EPOCH_0 = checkpointing.RESUME_FROM_EPOCH_0
    # ray_training
    RANK0_ONLY_REPORT = ray_training.RANK0_ONLY_REPORT
    TOO_MANY_REPORTS = ray_training.TOO_MANY_REPORTS
    METRIC_MISSING = ray_training.METRIC_MISSING
    WRONG_EPOCH_REPORTED = ray_training.WRONG_EPOCH_REPORTED
    TOO_FEW_EPOCHS = ray_training.TOO_FEW_EPOCHS
    TOO_MANY_EPOCHS = ray_training.TOO_MANY_EPOCHS
    LOOP_REPEATS_EPOCH = ray_training.LOOP_REPEATS_EPOCH
    RANK0_ONLY_SAVE = ray_training.RANK0_ONLY_SAVE
    NO_CHECKPOINT = ray_training.NO_CHECKPOINT
    RANK0_ONLY_CHECKPOINT = ray_training.RANK0_ONLY_CHECKPOINT
    NOT_A_TRAINER = ray_training.NOT_A_TRAINER
    FIT_IN_MAKE_TRAINER = ray_training.FIT_IN_MAKE_TRAINER
    NO_LOOP_CONFIG = ray_training.NO_LOOP_CONFIG
    WRONG_LOOP_CONFIG = ray_training.WRONG_LOOP_CONFIG
    WRONG_NUM_WORKERS = ray_training.WRONG_NUM_WORKERS
    WRONG_BACKEND = ray_training.WRONG_BACKEND
    STORAGE_PATH_UNUSED = ray_training.STORAGE_PATH_UNUSED
    # counting_bytes
    ITEMSIZE_FORGOTTEN = counting_bytes.ITEMSIZE_FORGOTTEN
    PADDING_FORGOTTEN = counting_bytes.PADDING_FORGOTTEN
    FLAT_PADDING = counting_bytes.FLAT_PADDING
    BACKWARD_GATHER_FORGOTTEN = counting_bytes.BACKWARD_GATHER_FORGOTTEN
    ROOT_GATHERED_TWICE = counting_bytes.ROOT_GATHERED_TWICE
    RING_FACTOR_MISSING = counting_bytes.RING_FACTOR_MISSING
    ALL_REDUCE_COUNTED_ONCE = counting_bytes.ALL_REDUCE_COUNTED_ONCE
    DDP_PADDED = counting_bytes.DDP_PADDED
    ESTIMATE_WRONG = counting_bytes.ESTIMATE_WRONG
