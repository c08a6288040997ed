"""Mistakes in checkpoints that are written while training goes on."""

ASYNC_SAVE_BLOCKS = (
    "Training stands still until the checkpoint is written: nothing is gained.",
    "hand the writing to a thread and return its Future; wait for it in the next save",
)
ASYNC_SNAPSHOT_RACE = (
    "The checkpoint holds weights from after the call: training changed them while it was written.",
    "copy the state before save_async returns, as dcp.async_save does; the thread writes the copy",
)
ASYNC_ON_TRAINING_GROUP = (
    "The thread that saves talks over the group on which the model trains.",
    "pass process_group=group, and dist.barrier(group) in the thread: the two orders must not mix",
)
ASYNC_COMMITTED_EARLY = (
    "A checkpoint counts as complete before it is written.",
    "write the record and rename only when all ranks have written: wait for the written Future",
)
ASYNC_COMMITTED_LATE = (
    "The checkpoint is written, but complete only after somebody has asked for the result.",
    "commit in the thread, when all is written; nobody may ever ask, if the run dies",
)
ASYNC_NOT_COMMITTED = (
    "The checkpoint never becomes complete.",
    "after the writing, on rank 0: write_record, then os.rename, as in save_checkpoint",
)
ASYNC_NOT_WAITED = (
    "Two saves are written at the same time, each with a copy of the state in memory.",
    "if previous is not None: previous.result(), before anything else",
)
ASYNC_ERROR_LOST = (
    "The writing failed, and nobody is told.",
    "let the exception stay in the Future: result() then raises it in the next save",
)
