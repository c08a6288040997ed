"""Mistakes in making a checkpoint complete or absent: records, temporary names, renames."""

NO_RECORD_ACCEPTED = (
    "A directory that no record vouches for is taken for complete.",
    "no record that can be read, no checkpoint: return False",
)
IS_COMPLETE_RAISES = (
    "is_complete raises where it should say False: the run would end instead of going on.",
    "a record that cannot be read, or a file that is not there, is a reason for False",
)
GOOD_REJECTED = (
    "A directory in which nothing is damaged is taken for incomplete.",
    "compare like with like; leave the record itself out of what it records",
)
RECORD_BOUND_TO_PLACE = (
    "The record holds only where, or in the process in which, it was written.",
    "record paths relative to the directory, inside of it; no hash(), which differs by process",
)
FILES_NOT_RECORDED = (
    "The record leaves out some of the files.",
    "take all files at any depth, hidden ones too: Path(directory).rglob('*')",
)
TORN_FILE_ACCEPTED = (
    "A file that lost a part, or is gone, is not noticed.",
    "compare the files that are there, and their sizes, with the record",
)
FLIP_ACCEPTED = (
    "A file of the right size with other content is not noticed; dcp.load would not notice either.",
    "record the SHA-256 of the whole content, and compute it again in is_complete",
)
FOREIGN_FILE_ACCEPTED = (
    "A file that nobody recorded is not noticed: what an earlier save left is taken for a part.",
    "the files that are there must be the same as those recorded, no fewer and no more",
)
TORN_RECORD_ACCEPTED = (
    "A record that lost its end is trusted: files that it no longer lists are not checked.",
    "the files that are there must be the same as those recorded, no fewer and no more",
)
NOT_COMMITTED = (
    "A save in which nothing went wrong leaves no checkpoint that can be found and loaded.",
    "latest_complete must find what save_checkpoint has put in place",
)
NON_ATOMIC_SAVE = (
    "A crash in the middle of a save leaves nothing to go on from, though there was a checkpoint.",
    "leave the old one alone; write the new one under another name, and rename it when it is whole",
)
LATEST_POINTS_TO_TORN = (
    "What is taken for the newest complete checkpoint is torn, or not what was saved.",
    "return only what is_complete accepts; if that is not the newest, an older one",
)
LATEST_RAISES = (
    "latest_complete raises because of what a crash left: the run could not go on.",
    "take what cannot be read for incomplete, and look at the one before it",
)
FILES_CHANGED = (
    "What is only to look changes files, and a save may be going on among them.",
    "let it only look; what is in the way is cleared by the next save",
)
RANKS_DISAGREE = (
    "The ranks do not agree on the newest complete checkpoint: they would load different ones.",
    "look at all files of the checkpoint on every rank, or let rank 0 decide for all",
)
NOT_THE_NEWEST = (
    "An older checkpoint is taken for the newest, or one that was never whole.",
    "order them by step, as a number; dates change when files are copied",
)
DEBRIS_BREAKS_SAVE = (
    "What an earlier crash left in the folder is in the way of the next save.",
    "clear the place before writing (one rank, then a barrier); os.rename needs a free name",
)
SAVE_ERROR_SWALLOWED = (
    "The save failed, and save_checkpoint returned as if it had not.",
    "let the exception through: whoever called must know that there is no new checkpoint",
)
TEMP_DIR_RACE = (
    "A fast rank does not wait for a slow one, which is still writing.",
    "a barrier after clearing, and one after all have written, before rank 0 commits",
)
ONLY_GOOD_REMOVED = (
    "The last complete checkpoint is removed, because torn ones were counted in its place.",
    "count only what is_complete accepts",
)
NEWEST_REMOVED = (
    "A checkpoint is removed that is among the newest.",
    "order the complete ones by step, newest first; remove what comes after num_kept of them",
)
NOT_REMOVED = (
    "Old checkpoints stay, and the disk fills up.",
    "after a save remove all complete checkpoints but the num_kept newest: shutil.rmtree",
)
