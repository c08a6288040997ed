"""What a check says in the end: passed, failed with a named mistake, or not solved yet."""

import os
import sys
from dataclasses import dataclass

from grader.mistakes import Mistake

COLOURS = {"✓ passed": 32, "✗ failed": 31, "○ not solved yet": 36}  # ANSI green, red, cyan


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A wrong answer: the mistake, what was expected, what came, and where (rank, name, line).

    `site` is the learner's "file:line", if one is known: the check says whose function it is in.
    `case` says on which ranks, with which model, and `first` which step to mend before this one;
    the check adds both. `next_step` replaces the mistake's own where more is known.
    """

    mistake: Mistake
    expected: str = ""
    came: str = ""
    where: str = ""
    site: str = ""
    case: str = ""
    first: str = ""
    next_step: str = ""


class CheckFailed(AssertionError):  # noqa: N818  (a verdict, no error of the program)
    """Raised when an answer is wrong; the verdict above it has been printed."""

    def __init__(self, name: str, failure: Failure) -> None:
        super().__init__(f"{name}: {failure.mistake.name}")
        self.failure = failure

    def _render_traceback_(self) -> list[str]:
        """Show one line: IPython would print the grader's frames."""
        return [f"CheckFailed: {self}"]


class NotSolved(NotImplementedError):  # noqa: N818
    """Raised when an answer, or one it calls, is still `raise NotImplementedError()`."""

    def __init__(self, name: str, called: str = "") -> None:
        super().__init__(f"{name}: {called}" if called else name)

    def _render_traceback_(self) -> list[str]:
        """Show one line: IPython would print the grader's frames."""
        return [f"NotSolved: {self}"]


def show(text: str) -> None:
    """Print what a learner is to read: to stdout, since nbgrader takes stderr for a failure.

    In a notebook the symbol and its word are coloured too.
    """
    if is_in_notebook():
        for word, colour in COLOURS.items():
            if text.startswith(word):
                text = f"\x1b[1;{colour}m{word}\x1b[0m{text.removeprefix(word)}"
    print(text)  # noqa: T201


def is_in_notebook() -> bool:
    """Whether what is printed goes to a cell's output."""
    return type(sys.stdout).__module__ == "ipykernel.iostream"


def passed(name: str, proof: str) -> str:
    """Return the verdict of a right answer."""
    return f"✓ passed: {name}\n  {proof}"


def failed(name: str, failure: Failure) -> str:
    """Return the verdict of a wrong answer, one fact a line."""
    mistake = failure.mistake
    facts = {
        "expected": failure.expected,
        "came": failure.came,
        "where": failure.where,
        "case": failure.case,
        "first": failure.first,
        "next": failure.next_step or mistake.next_step,
    }
    lines = [f"✗ failed: {name} [{mistake.name}]", f"  {mistake.meaning}"]
    for label, text in facts.items():
        lines += _fact(label, text) if text else []
    return "\n".join(lines)


def _fact(label: str, text: str) -> list[str]:
    first, *rest = text.splitlines()
    return [f"  {label:<9}{first}", *(f"  {'':<9}{line}" for line in rest)]


def not_solved(name: str, called: str = "", *, left: str = "") -> str:
    """Return the verdict of a stub.

    `called` names the stub if it is none of the answers, `left` if it is one of several.
    """
    verdict = f"○ not solved yet: {name}"
    if left:
        return f"{verdict}\n  {left} is still to be written."
    return f"{verdict}\n  It calls {called}, which is not solved yet." if called else verdict


def is_left_out() -> bool:
    """Whether nbgrader runs this; then say that what takes long and gives no points is left out."""
    if "NBGRADER_EXECUTION" not in os.environ:
        return False
    show("Not run while grading: no points depend on it.")
    return True
