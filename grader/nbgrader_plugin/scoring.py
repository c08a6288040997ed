"""Decide each graded cell, and leave outputs in which nbgrader reads exactly that."""

import re
from enum import StrEnum
from typing import Any

import nbformat
from nbconvert.filters import strip_ansi
from nbformat import NotebookNode
from nbgrader import utils


class Outcome(StrEnum):
    """How a graded cell ended."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_SOLVED = "not solved yet"
    ERROR = "error"
    STOPPED = "stopped"
    NOT_RUN = "not run"
    NO_VERDICT = "no verdict"


# The exceptions that say more than "error", by the name that the kernel reports.
OUTCOMES = {
    "CheckFailed": Outcome.FAILED,
    "NotSolved": Outcome.NOT_SOLVED,
    "Stopped": Outcome.STOPPED,
    "NotRun": Outcome.NOT_RUN,
    "NoVerdict": Outcome.NO_VERDICT,
}


def is_autograded(cell: NotebookNode) -> bool:
    """Say whether points depend on running this cell."""
    return bool(cell.cell_type == "code" and utils.is_grade(cell) and not utils.is_solution(cell))


def settle(cell: NotebookNode, passed_checks: list[str]) -> None:
    """Make the outputs of a graded cell worth all its points or none.

    It earns them if it ended without an exception *and* a check that its own source names has
    passed. What the cell displays, returns or writes to stderr is kept for people to read, and
    decides nothing.
    """
    cell.outputs = [_harmless(output) for output in cell.outputs]
    errors = [output for output in cell.outputs if output.output_type == "error"]
    for shown in errors:
        shown.traceback = learners_frames(shown.traceback)
    words = re.findall(r"\w+", cell.source)
    is_named = [name in words or f"check_{name}" in words for name in passed_checks]
    if not errors and not (is_named and all(is_named)):
        say(cell, "NoVerdict", "No check of the course has passed in this cell.")


def say(cell: NotebookNode, name: str, sentence: str) -> None:
    """Append an error to the cell's outputs: worth no points, and shown in the feedback."""
    cell.outputs.append(nbformat.v4.new_output("error", **error(name, sentence)))


def error(name: str, sentence: str) -> dict[str, Any]:
    """Return the fields of an error as a kernel would send it."""
    text = f"\x1b[0;31m{name}\x1b[0m: {sentence}"
    return {"ename": name, "evalue": sentence, "traceback": [text]}


def outcome_of(cell: NotebookNode) -> tuple[Outcome, str]:
    """Return how a settled cell ended, and the reason: a mistake's code or a sentence."""
    errors = [output for output in cell.get("outputs", []) if output.output_type == "error"]
    if not errors:
        return Outcome.PASSED, ""
    name, text = errors[-1].ename, errors[-1].evalue
    outcome = OUTCOMES.get(name, Outcome.ERROR)
    if outcome is Outcome.FAILED:
        return outcome, text.rpartition(": ")[2]
    return outcome, f"{name}: {text}".strip(": ") if outcome is Outcome.ERROR else text


def learners_frames(traceback: list[str]) -> list[str]:
    """Return the frames of answers and the last line, without those of the graded cell itself.

    IPython gives a traceback as a heading, one text per frame, and "Name: message". The graded
    cell is the first frame; what it calls lies in files, and answers lie in cells.
    """
    if len(traceback) < 3:
        return traceback
    frames = [text for text in traceback[:-1] if re.match(r"Cell In\[\d+\]", strip_ansi(text))]
    return [*frames[1:], traceback[-1]]


def _harmless(output: NotebookNode) -> NotebookNode:
    """Return what people see in an output, in a form that nbgrader takes no points from."""
    fields: dict[str, Any] = dict(output)
    if output.output_type == "execute_result":
        shown = {key: fields[key] for key in ("data", "metadata")}
        return nbformat.v4.new_output("display_data", **shown)
    if output.output_type == "stream":
        return nbformat.v4.new_output("stream", name="stdout", text=fields["text"])
    return output
