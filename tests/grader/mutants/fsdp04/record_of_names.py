"""The record holds the names of the files alone."""

CHECK = "record"
CODE = "TORN_FILE_ACCEPTED"


def describe_files(directory):
    paths = Path(directory).rglob("*")
    return sorted(str(p.relative_to(directory)) for p in paths if p.name != "record.json")
