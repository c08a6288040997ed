"""One check: launches within one time budget, judged facts, and a verdict at the end."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import sandbox
from grader import explain, record, verdict
from grader.mistakes import Mistake
from grader.verdict import CheckFailed, Failure, NotSolved
from sandbox.errors import SandboxError
from sandbox.run import Run

BUDGET_S = 20.0  # for all launches of one check; nbgrader gives a cell 60


class Check:
    """A check as a context: ✓ is printed when its body ends; ✗ or ○, and it raises, when not."""

    def __init__(self, name: str, proof: str, *answers: object) -> None:
        self.name = name
        self.proof = proof
        self._answers = answers
        self._end_s = time.monotonic() + BUDGET_S

    def __enter__(self) -> Self:
        for answer in self._answers:
            if not callable(answer):
                came = f"{answer!r}, a {type(answer).__name__}"
                self.judge(Failure(mistake=Mistake.NOT_A_FUNCTION, came=came))
        return self

    def launch(
        self, observe: Callable[..., Any], *args: Any, world_size: int, **options: Any
    ) -> Run:
        """Run `observe` on ranks within what is left of the budget."""
        left_s = max(self._end_s - time.monotonic(), 0.1)
        run = sandbox.launch(observe, *args, world_size=world_size, timeout_s=left_s, **options)
        self._end_s += run.waited_s  # the warm process was still importing: not the answer's fault
        return run

    def judge(self, failure: Failure | None) -> None:
        """End the check with this failure, if it is one."""
        if failure is not None:
            verdict.show(verdict.failed(self.name, failure))
            raise CheckFailed(self.name, failure)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if error is None:
            verdict.show(verdict.passed(self.name, self.proof))
            record.passed(f"check_{self.name}")
            record.passed(self.name)  # what graded points are given for; the print is for people
        if not isinstance(error, SandboxError):
            return
        stub = explain.stub_of(error)
        if stub is not None:
            is_own = stub in {getattr(answer, "__name__", "") for answer in self._answers}
            called = "" if is_own else stub
            verdict.show(verdict.not_solved(self.name, called))
            raise NotSolved(self.name, called) from None
        failure = explain.failure_of(error)
        verdict.show(verdict.failed(self.name, failure))
        raise CheckFailed(self.name, failure) from None
