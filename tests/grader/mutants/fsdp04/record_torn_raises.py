"""A record that is torn raises."""

CHECK = "record"
CODE = "IS_COMPLETE_RAISES"


def is_complete(directory):
    record = Path(directory, "record.json")
    return record.exists() and json.loads(record.read_text()) == describe_files(directory)
