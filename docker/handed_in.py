"""What the students of a class handed in, read without trusting their folders."""

import re
import stat
from dataclasses import dataclass
from pathlib import Path

from grader.nbgrader_plugin.submission import MAX_BYTES

# Names that nbgrader and a file called NAME.html take: it reads *, ?, [ and + as patterns.
FIT_NAME = re.compile(r"[^*?\[\]+]{1,200}")


@dataclass(frozen=True)
class HandedIn:
    """One student's notebook, or in `problem` why there is none to grade."""

    student: str
    notebook: str = ""
    problem: str = ""


def read_class(exercise: str, submitted: Path) -> list[HandedIn]:
    """Return what each folder of `submitted` holds, in the order of their names.

    Raises ValueError if there are none, or if `submitted` cannot be read.
    """
    expected = f"expected STUDENT/{exercise}/{exercise}.ipynb in it"
    try:
        found = sorted(path for path in submitted.iterdir() if not path.name.startswith("."))
        folders = [path for path in found if path.is_dir() or path.is_symlink()]
    except OSError as error:
        raise ValueError(f"{submitted}: {error.strerror}; {expected}.") from None
    if not folders:
        raise ValueError(f"{submitted} holds no folder of a student; {expected}.")
    return [_hand_in(folder, exercise) for folder in folders]


def _hand_in(folder: Path, exercise: str) -> HandedIn:
    try:
        return HandedIn(folder.name, _read(folder, exercise))
    except FileNotFoundError:
        others = sorted(path.relative_to(folder) for path in folder.glob("**/*.ipynb"))[:3]
        instead = f"; there is {', '.join(map(str, others))}" if others else ""
        problem = f"there is no {exercise}/{exercise}.ipynb{instead}"
    except OSError as error:
        problem = f"the notebook cannot be read: {error.strerror}"
    except ValueError as error:
        problem = str(error)
    return HandedIn(folder.name, problem=problem)


def _read(folder: Path, exercise: str) -> str:
    """Return the notebook's text. Raises OSError, or ValueError if it is not to be trusted."""
    notebook = folder / exercise / f"{exercise}.ipynb"
    if not FIT_NAME.fullmatch(folder.name):
        raise ValueError("nbgrader takes no *, ?, [, ] or + in a name, and 200 letters at most")
    for path in (folder, notebook.parent, notebook):
        if path.is_symlink():
            raise ValueError(f"{path.relative_to(folder.parent)} is a link")
    status = notebook.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"{exercise}/{exercise}.ipynb is not a file")
    if status.st_size > MAX_BYTES:
        raise ValueError(f"the notebook is larger than {MAX_BYTES // 1_000_000} MB")
    return notebook.read_bytes().decode("utf-8", "replace")
