"""One check: launches within one time budget, judged facts, and a verdict at the end."""

import contextlib
import inspect
import os
import re
import time
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType, TracebackType
from typing import Any, NoReturn, Self, TypeVar

import sandbox
from grader import explain, launches, record, verdict
from grader.exercise import Exercise
from grader.mistakes import Mistake
from grader.verdict import CheckFailed, Failure, NotSolved
from grader.whose_line import function_at, grader_name_in, uses
from sandbox.elastic.elastic_run import ElasticRun
from sandbox.errors import SandboxError
from sandbox.progress import waiting
from sandbox.ranks import warm
from sandbox.run import Run

T = TypeVar("T")

BUDGET_S = 20.0  # for all launches of one check, on a machine with nothing else to do
MAX_STRETCH = 2.5  # nbgrader gives a cell 60 s, and what surrounds the launches needs some of them
# At most this much of a launch on GPUs does not count: each rank makes a context, joins NCCL's
# communicator and loads kernels before it does anything of the answer's.
GPU_START_S = 4.0
EXPECTED_S = 8.0  # of most checks, for the bar alone


class Check:
    """A check as a context: ✓ is printed when its body ends; ✗ or ○, and it raises, when not.

    In a notebook a bar shows that it still runs; it is gone when the verdict comes.
    """

    exercise = Exercise(asked={}, given=frozenset())  # each exercise has a Check of its own

    def __init__(self, name: str, proof: str, *answers: object) -> None:
        self.name = name
        self.proof = proof
        self._answers = answers
        self._case = ""
        self._bar = contextlib.ExitStack()
        self._tick: Callable[[], None] = lambda: None
        self._end_s = time.monotonic() + budget_s()

    def __enter__(self) -> Self:
        for answer in self._answers:
            self.judge(judge_form(answer, self.exercise))
        if name := grader_name_in(self._answers):
            self.judge(Failure(mistake=Mistake.USES_THE_GRADER, came=name))
        if verdict.is_in_notebook():
            self._tick = self._bar.enter_context(waiting(f"Checking {self.name}", EXPECTED_S))
        return self

    def launch(
        self,
        observe: Callable[..., Any],
        *args: Any,
        world_size: int,
        case: str = "",
        **options: Any,
    ) -> Run:
        """Run `observe` on ranks within what is left of the budget.

        `case` is what the verdict says of these ranks and their model, if this launch is its end.
        """
        left_s = self._prepare(observe, case)
        run = launches.launch(observe, *args, world_size=world_size, timeout_s=left_s, **options)
        self._excuse(run)
        return run

    def launch_elastic(
        self,
        observe: Callable[..., Any],
        *args: Any,
        world_size: tuple[int, int],
        case: str = "",
        **options: Any,
    ) -> ElasticRun:
        """Run `observe` on ranks that come and go, within what is left of the budget."""
        left_s = self._prepare(observe, case)
        run = sandbox.launch_elastic(
            observe, *args, world_size=world_size, timeout_s=left_s, **options
        )
        for generation in run.generations:
            self._excuse(generation.run)
        return run

    def _excuse(self, run: Run) -> None:
        """Give back the time for which the answer is not to blame."""
        self._end_s += run.waited_s  # the warm process was still importing
        if run.backend != "gloo":
            self._end_s += min(run.duration_s, GPU_START_S)

    def _prepare(self, observe: Callable[..., Any], case: str) -> float:
        """Note what the next launch is of; return the seconds that it may take."""
        self._case = case
        self._tick()
        warm.preload(observe.__module__)  # with its package: to import that takes a rank 60 ms
        return max(self._end_s - time.monotonic(), 0.1)

    def judge(self, failure: Failure | None) -> None:
        """End the check with this failure, if it is one."""
        if failure is not None:
            self._fail(failure)

    def require(self, made: T | Failure) -> T:
        """Return what was made; end the check where that is a failure."""
        if isinstance(made, Failure):
            self._fail(made)
        return made

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._bar.close()
        if error is None:
            verdict.show(verdict.passed(self.name, self.proof))
            record.passed(f"check_{self.name}", self._own_names())
            record.passed(self.name)  # what graded points are given for; the print is for people
        if not isinstance(error, SandboxError):
            return
        stub = explain.stub_of(error)
        if stub is not None:
            own = self._names_of_the_step()
            called, left = ("", stub) if stub in own else (stub, "")
            left = left if len(own) > 1 else ""
            verdict.show(verdict.not_solved(self.name, called, left=left))
            raise NotSolved(self.name, called) from None
        self._fail(explain.failure_of(error))

    def _fail(self, failure: Failure) -> NoReturn:
        self._bar.close()
        where = self._add_function(failure.where, failure.site)
        in_case = replace(failure, case=self._case, where=where)
        if failure.mistake is Mistake.WRONG_RESULT and failure.came in ("None", "NoneType"):
            in_case = replace(in_case, next_step="it returned None: did you forget `return`?")
        missing = re.fullmatch(r"NameError: name '(\w+)' is not defined", failure.came)
        if missing and missing[1] in self.exercise.names:
            hint = f"run the cells above this one: {missing[1]} is defined there"
            in_case = replace(in_case, next_step=hint)
        in_case = replace(in_case, first=self._failed_before())
        record.failed(self._own_names())
        verdict.show(verdict.failed(self.name, in_case))
        raise CheckFailed(self.name, in_case) from None

    def _failed_before(self) -> str:
        """Name the earliest step that has failed, of those whose functions the answers use."""
        others = self.exercise.asked.keys() - self._own_names()
        used = [name for name in others & record.failed_functions() if uses(name, self._answers)]
        if not used:
            return ""
        step, name = min((self.exercise.asked[name].step, name) for name in used)
        return f"step {step}: {name}, which this uses, has failed its check"

    def _names_of_the_step(self) -> set[str]:
        """Return the answers that this check is of; others may be passed for it to call."""
        asked = self.exercise.asked
        names = [name for answer in self._answers if (name := getattr(answer, "__name__", ""))]
        step = asked[names[0]].step if names and names[0] in asked else None
        return {name for name in names if name not in asked or asked[name].step == step}

    def _own_names(self) -> set[str]:
        return {getattr(answer, "__name__", "") for answer in self._answers}

    def _add_function(self, where: str, site: str) -> str:
        """Say in which function the line is, if it is that of an earlier step."""
        name = function_at(site, self._answers) if site else ""
        if not name or name in self._own_names():
            return where
        line, *text = where.splitlines()
        asked = self.exercise.asked.get(name)
        step = f" (step {asked.step})" if asked and asked.step else ""
        return "\n".join([f"{line}, in {name}{step}", *text])


def judge_form(answer: object, exercise: Exercise) -> Failure | None:
    """Judge that an answer is a function, and one that can be called as the notebook calls it."""
    if not callable(answer):
        came = f"{answer!r}, a {type(answer).__name__}"
        return Failure(mistake=Mistake.NOT_A_FUNCTION, came=came)
    name = getattr(answer, "__name__", "")
    if name not in exercise.asked or not isinstance(answer, FunctionType):
        return None
    asked = exercise.asked[name].parameters
    signature = inspect.signature(answer)
    try:
        signature.bind(*asked)
    except TypeError:
        code = answer.__code__
        site = f"{code.co_filename}:{code.co_firstlineno}"
        return Failure(
            mistake=Mistake.WRONG_SIGNATURE,
            expected=f"def {name}({', '.join(asked)})",
            came=f"def {name}{signature}",
            where=explain.describe_line(site),
        )
    return None


def budget_s() -> float:
    """Return the seconds that a check may take now: more where processes queue for a processor.

    A right answer is not to fail because other programs run.
    """
    queue = os.getloadavg()[0] / (os.cpu_count() or 1)
    return BUDGET_S * min(max(queue, 1.0), MAX_STRETCH)
