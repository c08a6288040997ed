"""Sorted the other way round."""

CHECK = "keep_newest"
CODE = "NEWEST_REMOVED"


def keep_newest(root, num_kept):
    complete = [path for path in sorted(Path(root).glob("step-*")) if is_complete(path)]
    for directory in complete[num_kept:]:
        shutil.rmtree(directory)
