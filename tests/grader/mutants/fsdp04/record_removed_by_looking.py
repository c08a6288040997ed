"""is_complete removes what it has looked at."""

CHECK = "record"
CODE = "FILES_CHANGED"
look = is_complete


def is_complete(directory):
    found = look(directory)
    if found:
        shutil.rmtree(directory)
    return found
