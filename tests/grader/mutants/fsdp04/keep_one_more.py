"""One more than asked for stays."""

CHECK = "keep_newest"
CODE = "NOT_REMOVED"


def keep_newest(root, num_kept):
    directories = sorted(Path(root).glob("step-*"), reverse=True)
    complete = [directory for directory in directories if is_complete(directory)]
    for directory in complete[num_kept + 1 :]:
        shutil.rmtree(directory)
