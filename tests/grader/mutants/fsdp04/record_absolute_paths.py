"""The record names the files by their whole path."""

CHECK = "record"
CODE = "RECORD_BOUND_TO_PLACE"


def describe_files(directory):
    return {
        str(path): [path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest()]
        for path in Path(directory).rglob("*")
        if path.is_file() and path.name != "record.json"
    }
