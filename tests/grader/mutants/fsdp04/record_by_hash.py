"""Python's own hash() is another one in every process."""

CHECK = "record"
CODE = "RECORD_BOUND_TO_PLACE"


def describe_files(directory):
    return {
        str(path.relative_to(directory)): [path.stat().st_size, hash(path.read_bytes())]
        for path in Path(directory).rglob("*")
        if path.is_file() and path.name != "record.json"
    }
