"""Step 4: a record that tells whether every file of a directory is as it was written."""

import random
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.fsdp04.damage import EVERYWHERE, Damage, Damaged, damage, damaged_copies, files_of
from grader.fsdp04.exercise import Check
from grader.mistakes import Mistake
from grader.verdict import Failure
from grader.whereabouts import elsewhere

WriteRecord = Callable[[str], None]
IsComplete = Callable[[str], bool]
Answer = bool | str  # what is_complete said, or "ValueError: …" if it raised

# Nested and hidden ones, an empty one, one longer than a block that is read at once, odd names.
SIZES = {
    "__0_0.distcp": 70_000,
    "__1_0.distcp": 900,
    ".metadata": 400,
    "rng/rank 0.pt": 100,
    "empty": 0,
    "größe.txt": 3,
}
FOREIGN = "__7_0.distcp"  # a file that is not among those recorded


@dataclass(frozen=True)
class Written:
    """What is_complete said before the record was written, and after."""

    without: dict[str, Answer]  # by what there was
    after: Answer


def check_record(write_record: WriteRecord, is_complete: IsComplete) -> None:
    """Judge the pair on directories of the grader's: whole, moved, damaged file by file."""
    proof = (
        "what was recorded is complete, moved elsewhere too; with any file missing, cut or\n"
        "  changed in one bit it is not"
    )
    with (
        Check("record", proof, write_record, is_complete) as check,
        tempfile.TemporaryDirectory(prefix="shardlab-") as path,
    ):
        origin = Path(path, "origin", "step-000003")
        make_files(origin)
        given = {file: file.read_bytes() for file in files_of(origin)}
        run = check.launch(observe_write, write_record, is_complete, str(origin), world_size=1)
        check.judge(judge_written(run.results[0]) or judge_untouched(given))
        records = {name.relative_to(origin) for name in set(files_of(origin)) - set(given)}
        moved = Path(path, "moved", "step-000003")
        moved.parent.mkdir()
        origin.rename(moved)
        copies = list(damaged_copies(moved, Path(path, "copies"), SIZES, EVERYWHERE))
        directories = [str(moved), *(copy.directory for copy in copies)]
        run = check.launch(observe, is_complete, directories, world_size=1)
        whole, *answers = run.results[0]
        check.judge(judge_moved(whole))
        check.judge(judge_damaged(copies, answers))
        torn = list(torn_records(moved, Path(path, "torn"), records))
        directories = [copy.directory for copy in torn]
        run = check.launch(observe, is_complete, directories, world_size=1)
        check.judge(judge_torn(torn, run.results[0]))
        (moved / FOREIGN).write_bytes(b"left by another save")
        run = check.launch(observe, is_complete, [str(moved)], world_size=1)
        check.judge(judge_foreign(run.results[0][0]))


def make_files(directory: Path) -> None:
    """Write files of random bytes."""
    rng = random.Random(4)
    for name, size in SIZES.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(rng.randbytes(size))


def torn_records(directory: Path, into: Path, records: set[Path]) -> list[Damaged]:
    """Cut the record, or empty it, and with it damage one file: each once."""
    torn: list[Damaged] = []
    for name in SIZES:
        for record in records:
            for share in (0.5, 0.0):
                copy = into / f"{len(torn):04}" / directory.name
                shutil.copytree(directory, copy)
                content = (copy / record).read_bytes()
                (copy / record).write_bytes(content[: int(share * len(content))])
                damage(copy / name, Damage.GROWN)
                torn.append(Damaged(str(copy), str(record), Damage.CUT))
    return torn


# -- observe --------------------------------------------------------------------------------------


def observe_write(write_record: WriteRecord, is_complete: IsComplete, directory: str) -> Written:
    """Write the record; say what is_complete says without it, and then."""
    empty = Path(directory).with_name("empty")
    empty.mkdir()
    without = {
        "a directory without a record": _ask(is_complete, directory),
        "an empty directory": _ask(is_complete, str(empty)),
        "a directory that is not there": _ask(is_complete, str(empty / "none")),
    }
    write_record(directory)
    return Written(without, _ask(is_complete, directory))


def observe(is_complete: IsComplete, directories: Sequence[str]) -> list[Answer]:
    """Return what is_complete says of each directory, in another Python."""
    with elsewhere():
        return [_ask(is_complete, directory) for directory in directories]


def _ask(is_complete: IsComplete, directory: str) -> Answer:
    try:
        return bool(is_complete(directory))
    except NotImplementedError:
        raise
    except Exception as error:  # whatever it is, it is told
        return f"{type(error).__name__}: {error}".replace(directory, "directory")


# -- judge ----------------------------------------------------------------------------------------


def judge_written(written: Written) -> Failure | None:
    """Judge what is_complete says without a record, and with one that was just written."""
    for what, answer in written.without.items():
        if answer is not False:
            mistake = Mistake.NO_RECORD_ACCEPTED if answer is True else Mistake.IS_COMPLETE_RAISES
            expected = f"is_complete of {what}: False"
            return Failure(mistake=mistake, expected=expected, came=str(answer))
    if written.after is not True:
        expected = "is_complete right after write_record: True"
        return Failure(mistake=Mistake.GOOD_REJECTED, expected=expected, came=str(written.after))
    return None


def judge_untouched(given: Mapping[Path, bytes]) -> Failure | None:
    """Judge that the files which were recorded are as they were."""
    for file, content in given.items():
        if not file.is_file() or file.read_bytes() != content:
            expected = "the files of the directory stay as they are"
            came = f"'{file.name}' has changed, or is gone"
            return Failure(mistake=Mistake.FILES_CHANGED, expected=expected, came=came)
    return None


def judge_moved(answer: Answer) -> Failure | None:
    """Judge that a directory may be moved with its record: a checkpoint will be."""
    if answer is True:
        return None
    expected = "is_complete of the directory under another name, in another process: True"
    return Failure(mistake=Mistake.RECORD_BOUND_TO_PLACE, expected=expected, came=str(answer))


def judge_damaged(copies: Sequence[Damaged], answers: Sequence[Answer]) -> Failure | None:
    """Judge that every damage to every file is found."""
    accepted: defaultdict[str, list[Damage]] = defaultdict(list)
    for copy, answer in zip(copies, answers, strict=True):
        if isinstance(answer, str):
            return _raises(f"'{copy.file}' {copy.damage.value}", answer)
        if answer:
            accepted[copy.file].append(copy.damage)
    for name, damages in accepted.items():
        if len(accepted) < len(SIZES) and {Damage.MISSING, Damage.GROWN} <= set(damages):
            came = f"'{name}' is missing, and is_complete says True"
            return Failure(mistake=Mistake.FILES_NOT_RECORDED, expected="False", came=came)
    for keeps_size, mistake in ((False, Mistake.TORN_FILE_ACCEPTED), (True, Mistake.FLIP_ACCEPTED)):
        for name, damages in accepted.items():
            found = [kind for kind in damages if kind.keeps_size == keeps_size]
            if found:
                came = f"'{name}' {found[0].value}, and is_complete says True"
                return Failure(mistake=mistake, expected="False", came=came)
    return None


def judge_torn(torn: Sequence[Damaged], answers: Sequence[Answer]) -> Failure | None:
    """Judge that a record that lost its end does not vouch for files that it lost."""
    for copy, answer in zip(torn, answers, strict=True):
        if isinstance(answer, str):
            return _raises(f"'{copy.file}', the record itself, {copy.damage.value}", answer)
        if answer:
            came = f"'{copy.file}', the record, {copy.damage.value}, another file is damaged: True"
            return Failure(mistake=Mistake.TORN_RECORD_ACCEPTED, expected="False", came=came)
    return None


def judge_foreign(answer: Answer) -> Failure | None:
    """Judge that a directory with one file more than was recorded is not complete."""
    if isinstance(answer, str):
        return _raises(f"'{FOREIGN}' came after the record", answer)
    if answer:
        came = f"'{FOREIGN}' came after the record, and is_complete says True"
        return Failure(mistake=Mistake.FOREIGN_FILE_ACCEPTED, expected="False", came=came)
    return None


def _raises(what: str, answer: str) -> Failure:
    came = f"{what}: {answer}"
    return Failure(mistake=Mistake.IS_COMPLETE_RAISES, expected="False", came=came)
