"""The record holds sizes, and no hash."""

CHECK = "record"
CODE = "FLIP_ACCEPTED"


def describe_files(directory):
    return {
        str(path.relative_to(directory)): path.stat().st_size
        for path in Path(directory).rglob("*")
        if path.is_file() and path.name != "record.json"
    }
