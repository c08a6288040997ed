"""A record that is not there, or torn, raises."""

CHECK = "record"
CODE = "IS_COMPLETE_RAISES"


def is_complete(directory):
    record = json.loads(Path(directory, "record.json").read_text())
    return record == describe_files(directory)
