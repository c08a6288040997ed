"""Damage to the files of a checkpoint: each kind is done to a copy of the whole directory."""

import itertools
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class Damage(Enum):
    """What a crash, a full disk, or a bad block leaves of a file."""

    MISSING = "is missing"
    CUT = "has lost its second half"
    GROWN = "has a byte more"
    ZEROED = "ends in zeros"
    FLIPPED = "has a bit flipped"

    @property
    def keeps_size(self) -> bool:
        """Whether the file is as long as it was: only its content tells."""
        return self in (Damage.ZEROED, Damage.FLIPPED)


Places = Mapping[Damage, Sequence[float]]  # where in a file, from 0, the first byte, to 1, the last

ONCE: Places = {kind: (0.63,) for kind in Damage if kind is not Damage.GROWN}
EVERYWHERE: Places = {**ONCE, Damage.GROWN: (1.0,), Damage.FLIPPED: (0.0, 0.37, 1.0)}


@dataclass(frozen=True)
class Damaged:
    """A copy of a directory in which one file is damaged."""

    directory: str
    file: str  # relative to it
    damage: Damage


def files_of(directory: Path) -> list[Path]:
    """Return all files at any depth, hidden ones too, in order."""
    return sorted(path for path in directory.rglob("*") if path.is_file())


def damage(path: Path, kind: Damage, place: float = 0.5) -> bool:
    """Damage a file; return whether that can be done, for an empty one cannot be cut.

    A bit is flipped at `place`, from 0 (the first byte) to 1 (the last).
    """
    content = path.read_bytes()
    half = len(content) // 2
    changed: bytes | None = {
        Damage.MISSING: None,
        Damage.CUT: content[:half],
        Damage.GROWN: content + b"\0",
        Damage.ZEROED: content[:half] + bytes(len(content) - half),
        Damage.FLIPPED: _flip(content, place),
    }[kind]
    if changed == content:
        return False
    if changed is None:
        path.unlink()
    else:
        path.write_bytes(changed)
    return True


def _flip(content: bytes, place: float) -> bytes:
    if not content:
        return content
    number = round(place * (len(content) - 1))
    return content[:number] + bytes([content[number] ^ 0x10]) + content[number + 1 :]


def damaged_copies(
    directory: Path,
    into: Path,
    names: Iterable[str],
    places: Places,
) -> Iterator[Damaged]:
    """Make, below `into`, a copy of `directory` for every file named and every damage to it."""
    numbers = itertools.count()
    for name in names:
        for kind, kinds_places in places.items():
            for place in kinds_places:
                copy = into / f"{next(numbers):04}" / directory.name
                shutil.copytree(directory, copy)
                if damage(copy / name, kind, place):
                    yield Damaged(str(copy), name, kind)
