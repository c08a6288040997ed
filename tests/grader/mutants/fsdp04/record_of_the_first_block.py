"""Only the beginning of each file is hashed."""

CHECK = "record"
CODE = "FLIP_ACCEPTED"


def describe_files(directory):
    return {
        str(path.relative_to(directory)): [
            path.stat().st_size,
            hashlib.sha256(path.open("rb").read(4096)).hexdigest(),
        ]
        for path in Path(directory).rglob("*")
        if path.is_file() and path.name != "record.json"
    }
