"""The newest stay, torn or not: the good ones go."""

CHECK = "keep_newest"
CODE = "ONLY_GOOD_REMOVED"


def keep_newest(root, num_kept):
    for directory in sorted(Path(root).glob("step-*"), reverse=True)[num_kept:]:
        shutil.rmtree(directory)
