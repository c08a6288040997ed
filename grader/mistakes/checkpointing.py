"""Mistakes in checkpoints: what is saved, by whom, and what comes back."""

RANK0_ONLY_STATE_DICT = (
    "Only some ranks take part in collecting the state, which needs every rank.",
    "call get_state_dict and dcp.save on every rank; decide by rank only what to write",
)
LOCAL_SHARD_TORCH_SAVE = (
    "The checkpoint holds shards and not where they belong, so other ranks cannot load them.",
    "let torch.distributed.checkpoint write it: it stores where each shard belongs",
)
STATE_GATHERED = (
    "The whole state is gathered to be saved: of a large model, no rank has the memory for it.",
    "get_state_dict without full_state_dict gives shards; dcp.save lets each rank write its own",
)
WEIGHTS_NOT_RESTORED = (
    "After loading, a weight is not the one that was saved.",
    "load into the model's state dict, then set it: set_state_dict",
)
SAVED_ELSEWHERE = (
    "Something that loading needs was saved outside the directory that was given.",
    "write everything below `directory`: it is all that moves with a checkpoint",
)
SAVE_NOT_AWAITED = (
    "save_checkpoint returned on every rank before its files were written.",
    "wait for it: dcp.save, or .result() of what dcp.async_save returns",
)
OPTIM_NOT_RESTORED = (
    "The weights came back, the optimizer's moments or its settings did not.",
    "save and load its whole state; get_state_dict gives a fresh AdamW its empty moments",
)
EPOCH_REPEATED = (
    "After a resume, an epoch that was finished is trained again.",
    "what is saved after `epoch` is the next one to train: epoch + 1",
)
RESUME_FROM_EPOCH_0 = (
    "The run does not go on where the checkpoint was taken.",
    "store next_epoch in the checkpoint, return it when loading, and start the loop there",
)
