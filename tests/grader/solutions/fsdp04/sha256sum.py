"""The record as sha256sum writes it, a line per file; sizes follow from the hash."""

import contextlib


def write_record(directory):
    root = Path(directory)
    with (root / "SHA256SUMS").open("w", encoding="utf-8") as sums:
        for path in root.rglob("*"):
            if path.is_file() and path.name != "SHA256SUMS":
                digest = hashlib.file_digest(path.open("rb"), "sha256").hexdigest()
                sums.write(f"{digest}  {path.stat().st_size}  {path.relative_to(root)}\n")
        sums.flush()
        os.fsync(sums.fileno())


def is_complete(directory):
    root = Path(directory)
    listed = set()
    with contextlib.suppress(OSError, ValueError):
        for line in (root / "SHA256SUMS").read_text(encoding="utf-8").split("\n")[:-1]:
            digest, size, name = line.split("  ", 2)
            with (root / name).open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                    return False
            if (root / name).stat().st_size != int(size):
                return False
            listed.add(name)
        found = {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}
        return found == {*listed, "SHA256SUMS"}
    return False
