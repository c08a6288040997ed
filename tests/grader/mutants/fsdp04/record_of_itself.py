"""The second time, the record is among the files: nothing is ever complete."""

CHECK = "record"
CODE = "GOOD_REJECTED"


def describe_files(directory):
    return {
        str(path.relative_to(directory)): [
            path.stat().st_size,
            hashlib.sha256(path.read_bytes()).hexdigest(),
        ]
        for path in Path(directory).rglob("*")
        if path.is_file()
    }
