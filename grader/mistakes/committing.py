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
TORN_RECORD_ACCEPTED = (
    "A record that lost its end is trusted: files that it no longer lists are not checked.",
    "the files that are there must be the same as those recorded, no fewer and no more",
)
