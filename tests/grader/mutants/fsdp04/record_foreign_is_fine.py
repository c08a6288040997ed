"""A file that the record does not list is overlooked."""

CHECK = "record"
CODE = "FOREIGN_FILE_ACCEPTED"


def is_complete(directory):
    try:
        r = json.loads(Path(directory, "record.json").read_text())
    except (OSError, ValueError):
        return False
    have = describe_files(directory)
    return all(have.get(k) == v for k, v in r.items())
