"""A line per file, and only what is listed is checked: a record that lost lines says yes."""

CHECK = "record"
CODE = "TORN_RECORD_ACCEPTED"


def write_record(directory):
    lines = [f"{size} {sha} {name}\n" for name, (size, sha) in describe_files(directory).items()]
    Path(directory, "record.json").write_text("".join(lines))


def is_complete(directory):
    record = Path(directory, "record.json")
    if not record.exists():
        return False
    files = describe_files(directory)
    lines = [line.split(" ", 2) for line in record.read_text().splitlines()]
    whole = [line for line in lines if len(line) == 3 and len(line[1]) == 64]
    return all([int(size), sha] == files.get(name) for size, sha, name in whole)
