"""What a planted hang must be told as: its culprit, its lines, and who waits for whom."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import sandbox
from sandbox import Op

Program = Callable[[int], None]


@dataclass(frozen=True)
class Planted:
    """One program of a rank, and what its error must say.

    Lines are found by comments in the source: `# waits` marks each line in which a rank waits (of a
    mismatch: which a member has called), `# culprit` the line that is to be shown.
    """

    program: Program
    culprit: int | None
    says: str
    error: type[sandbox.SandboxError] = sandbox.DeadlockError
    op: Op | None = None  # what the culprit's victims, or the culprit, wait in
    waits: dict[int, tuple[int, ...]] = field(default_factory=dict)  # who waits for whom
    world_size: int = 3
    timeout_s: float = 20.0

    @property
    def name(self) -> str:
        return self.program.__name__

    def lines(self, marker: str) -> set[int]:
        """Return the numbers of the lines whose comment holds the word."""
        lines, first = inspect.getsourcelines(self.program)
        return {first + i for i, line in enumerate(lines) if re.search(rf"#.*\b{marker}\b", line)}


PLANTED: list[Planted] = []


def plant(
    culprit: int | None,
    says: str,
    op: Op | None = None,
    waits: dict[int, tuple[int, ...]] | None = None,
    **expected: object,
) -> Callable[[Program], Program]:
    """Register a program of (rank) that hangs, or would."""

    def register(program: Program) -> Program:
        PLANTED.append(Planted(program, culprit, says, op=op, waits=waits or {}, **expected))
        return program

    return register


def mismatch(
    culprit: int | None, says: str, op: Op, **expected: object
) -> Callable[[Program], Program]:
    """Register a program in which the members of a group disagree."""
    return plant(culprit, says, op, error=sandbox.CollectiveMismatchError, **expected)
