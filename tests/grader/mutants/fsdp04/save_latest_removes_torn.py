"""latest_complete tidies up: a save that goes on is among what it removes."""

CHECK = "checkpoint"
CODE = "FILES_CHANGED"


def latest_complete(root):
    for d in sorted(Path(root).glob("*-*"), reverse=True):
        if not is_complete(d):
            shutil.rmtree(d, ignore_errors=True)
    return max(Path(root).glob("step-*"), default=None)
