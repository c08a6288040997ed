"""The same checks on gloo and on NCCL, side by side: where ledgers and verdicts differ.

Run with: python -m grader twin fsdp01

Written for GPUs; so far run with gloo on both sides, and with differences made by hand.
"""

import functools
import io
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from dataclasses import dataclass, field

from grader import launches, reference
from grader.verdict import CheckFailed, NotSolved
from sandbox import backend
from sandbox.errors import SandboxError
from sandbox.failure import name_ranks
from sandbox.ledger import Ledger

# What a rank issued: (rank, operation, group) -> how often, and bytes in all.
Traffic = dict[tuple[int, str, tuple[int, ...]], tuple[int, int]]
NOTHING = (0, 0)


@dataclass(frozen=True)
class Launch:
    """One launch of a check: on what it ran, and what its ranks issued."""

    backend: str
    world_size: int
    traffic: Traffic


@dataclass(frozen=True)
class Side:
    """One check on one side: how it ended, its verdict, and its launches in their order."""

    outcome: str
    verdict: str
    launches: tuple[Launch, ...]


@dataclass
class Report:
    """What came of comparing checks: differences in words, and how much was compared."""

    differences: list[str] = field(default_factory=list)
    num_compared: int = 0
    num_skipped: int = 0  # launches of more ranks than there are GPUs

    @property
    def lines(self) -> list[str]:
        """Return the differences, and a last line that counts what was compared."""
        skipped = f"; {self.num_skipped} need more GPUs" if self.num_skipped else ""
        many = len(self.differences)
        found = f"{many} difference{'s' * (many != 1)}" if many else "no difference"
        return [*self.differences, f"{self.num_compared} launches compared{skipped}: {found}"]


def compare_exercise(exercise: str) -> Report:
    """Run every check of an exercise's reference answers on both sides, and compare.

    Raises ValueError where there is no GPU, or no such exercise.
    """
    checks = reference.check_names(exercise)
    if not (backend.has_nvidia_driver() and backend.count_gpus()):
        raise ValueError(
            "twin grading needs a GPU, and there is none; `python -m sandbox doctor` says more"
        )
    namespace = reference.solution(exercise)
    report = Report()
    for check in checks:
        run = functools.partial(reference.run_check, exercise, check, namespace)
        compare(check, observe(run, backend.on_cpu()), observe(run, nullcontext()), report)
    return report


def observe(run: Callable[[], None], where: AbstractContextManager[None]) -> Side:
    """Run a check inside `where` and return how it ended and what it launched."""
    printed = io.StringIO()
    with where, redirect_stdout(printed), launches.kept() as runs:
        outcome = _outcome_of(run)
    found = [Launch(run.backend, run.world_size, traffic_of(run.ledger)) for run in runs]
    return Side(outcome, printed.getvalue(), tuple(found))


def _outcome_of(run: Callable[[], None]) -> str:
    try:
        run()
    except CheckFailed as error:
        return f"failed with {error.failure.mistake.name}"
    except (NotSolved, SandboxError) as error:
        return type(error).__name__
    return "passed"


def traffic_of(ledger: Ledger) -> Traffic:
    """Return how often each rank issued each operation in each group, and the bytes of it."""
    counts: Counter = Counter()
    sizes: Counter = Counter()
    for event in ledger:
        key = (event.rank, event.op.value, event.group)
        counts[key] += 1
        sizes[key] += event.nbytes
    return {key: (counts[key], sizes[key]) for key in counts}


def compare(check: str, gloo: Side, nccl: Side, report: Report) -> None:
    """Add to `report` where the two sides of a check differ."""
    if gloo.outcome != nccl.outcome:
        outcomes = f"{gloo.outcome} on gloo, {nccl.outcome} on NCCL"
        verdicts = f"{gloo.verdict}{nccl.verdict}".rstrip()
        report.differences.append(f"{check}: {outcomes}\n{verdicts}")
    if len(gloo.launches) != len(nccl.launches):
        counts = f"{len(gloo.launches)} launches on gloo, {len(nccl.launches)} on NCCL"
        report.differences.append(f"{check}: {counts}")
    pairs = zip(gloo.launches, nccl.launches, strict=False)
    for number, (ours, theirs) in enumerate(pairs, start=1):
        if theirs.backend != "nccl":
            report.num_skipped += 1
            continue
        report.num_compared += 1
        where = f"{check}, launch {number} of {ours.world_size} ranks"
        lines = describe_differences(ours.traffic, theirs.traffic)
        report.differences += [f"{where}: {line}" for line in lines]


def describe_differences(gloo: Traffic, nccl: Traffic) -> Iterator[str]:
    """Yield a line for each operation and group that ranks issued otherwise on NCCL."""
    ranks = defaultdict(list)
    for key in sorted(gloo.keys() | nccl.keys()):
        rank, op, group = key
        ours, theirs = gloo.get(key, NOTHING), nccl.get(key, NOTHING)
        if ours != theirs:
            ranks[op, group, ours, theirs].append(rank)
    for (op, group, ours, theirs), members in ranks.items():
        where = f"{name_ranks(members)}: {op} among {name_ranks(list(group))}"
        yield f"{where}: {_describe(ours)} on gloo, {_describe(theirs)} on NCCL"


def _describe(found: tuple[int, int]) -> str:
    return f"{found[0]} times, {found[1]:,} bytes"
