"""What a failed launch says about the answer: a sandbox error becomes a mistake, or a stub."""

import contextlib
import linecache
import re
from collections.abc import Iterator

from grader import verdict
from grader.mistakes import Mistake
from grader.verdict import Failure
from sandbox import source
from sandbox.errors import (
    CollectiveMismatchError,
    DeadlockError,
    LaunchError,
    NotAvailableError,
    NotTrackedError,
    PlacesJoinedError,
    RankDiedError,
    RankError,
    RankTimeoutError,
    SandboxError,
)
from sandbox.ledger import Ledger

# How torch 2.13, or code that an exercise gives, fails when these mistakes are made: a part of the
# message, or of the traceback.
KNOWN_TEXTS = {
    "got mixed torch.Tensor and DTensor": Mistake.FORWARD_BYPASS,
    "make_trainer called fit()": Mistake.FIT_IN_MAKE_TRAINER,
    "lies in another flat tensor already": Mistake.PARAMETERS_LOST,
    "already managed by another FSDP group": Mistake.TIED_WEIGHTS_SPLIT,
    # A parameter that is sharded already is taken for a tensor-parallel one.
    ", in _init_sharding_spec_tp": Mistake.ROOT_WRAPPED_FIRST,
}
MISTAKE_OF = {
    CollectiveMismatchError: Mistake.COLLECTIVE_ORDER_OR_SHAPE_MISMATCH,
    DeadlockError: Mistake.DEADLOCK,
    LaunchError: Mistake.CANNOT_RUN,
    NotAvailableError: Mistake.CANNOT_RUN,
    NotTrackedError: Mistake.CANNOT_RUN,
    PlacesJoinedError: Mistake.CANNOT_RUN,
    RankDiedError: Mistake.RANK_DIED,
    RankError: Mistake.RAISED,
    RankTimeoutError: Mistake.TIMED_OUT,
}
# What to do where a signal ended a rank.
NEXT_AFTER_SIGNAL = {
    "SIGKILL": "use less memory: the system kills what takes too much of it",
    "SIGTERM": "end no process by its id",
}
NEXT_AFTER_OTHER_SIGNALS = "look for what reaches below Python: ctypes, a tensor's data pointer"
IN_THE_CHECK = re.compile(r" at \S*grader/\S+\.py, line \d+")
MAX_LINES = 12
MAX_LINE_CHARS = 60


def stub_of(error: SandboxError) -> str | None:
    """Return the name of the function that is still `raise NotImplementedError()`, if one is."""
    if not isinstance(error, RankError) or error.exc_type != "NotImplementedError":
        return None
    if error.exc_message:  # torch raises it too, with a text
        return None
    functions = re.findall(r", in (\w+)$", error.traceback_text, re.MULTILINE)
    return functions[-1] if functions else ""


@contextlib.contextmanager
def telling_stubs(name: str) -> Iterator[None]:
    """Say of `name` that it is not solved yet, where a launch meets a stub; also as a decorator."""
    try:
        yield
    except RankError as error:
        stub = stub_of(error)
        if stub is None:
            raise
        verdict.show(verdict.not_solved(name, stub))


def failure_of(error: SandboxError) -> Failure:
    """Return the failure that this error stands for, in the fewest lines that name the culprit."""
    next_step = ""
    if isinstance(error, RankError):
        came = f"{error.exc_type}: {error.exc_message}".rstrip(": ")
        said = f"{error.exc_message}\n{error.traceback_text}"
        known = [mistake for text, mistake in KNOWN_TEXTS.items() if text in said]
        mistake = known[0] if known else Mistake.RAISED
    else:
        mistake = MISTAKE_OF[type(error)]
        came = error.message
        if mistake is Mistake.RANK_DIED and (signals := re.findall(r"\bSIG[A-Z]+", came)):
            next_step = NEXT_AFTER_SIGNAL.get(signals[0], NEXT_AFTER_OTHER_SIGNALS)
        if mistake is Mistake.TIMED_OUT:  # the hint there is for those who launch by themselves
            came = came.partition("\nHint:")[0]
            if not _is_learners(error.site):
                mistake = Mistake.NOT_REACHED
    return Failure(
        mistake=mistake,
        came=_shorten(IN_THE_CHECK.sub(" in the check", came)),
        where=where_of(error),
        site=site_of(error),
        next_step=next_step,
    )


def _is_learners(site: str | None) -> bool:
    return site is not None and source.is_learners(site.rpartition(":")[0])


def site_of(error: SandboxError) -> str:
    """Return the learner's line at which it failed, or "" where none is known.

    Where ranks wait for each other, a rank at the learner's line is told before one in the check.
    """
    if _is_learners(error.site):
        return error.site or ""
    if not isinstance(error, DeadlockError | CollectiveMismatchError) or error.run is None:
        return ""
    last = {event.rank: event.call_site for event in error.run.ledger}
    return next((site for _, site in sorted(last.items()) if site and _is_learners(site)), "")


def are_some_idle(error: DeadlockError | CollectiveMismatchError, world_size: int) -> bool:
    """Whether some ranks, but not all, have issued nothing since the first mark of their run."""
    ledger = error.run.ledger if error.run else Ledger()
    since_mark = [ledger.phases(rank)[1:] for rank in range(world_size)]
    return 0 < sum(not any(phases) for phases in since_mark) < world_size


def where_of(error: SandboxError) -> str:
    """Return "rank 2, cell In[3], line 5" as far as it is known, and below it the learner's line.

    Where ranks wait for each other, the line alone: who breaks the rule is another one than waits.
    """
    is_of_one_rank = not isinstance(error, DeadlockError | CollectiveMismatchError)
    parts = [f"rank {error.rank}"] if is_of_one_rank and error.rank is not None else []
    if site := site_of(error):
        parts.append(describe_line(site))
    elif is_of_one_rank and error.site:
        parts.append(source.describe(error.site))
    return ", ".join(parts)


def describe_line(site: str) -> str:
    """Return "cell In[3], line 5", and below it the text of that line, shortened, if it is found.

    IPython puts the lines of its cells into the linecache.
    """
    return f"{source.describe(site)}\n{_text_at(site)}".strip()


def _text_at(site: str) -> str:
    filename, _, number = site.rpartition(":")
    text = linecache.getline(filename, int(number)).strip()
    return text if len(text) <= MAX_LINE_CHARS else f"{text[:MAX_LINE_CHARS]}…"


def _shorten(text: str) -> str:
    lines = text.splitlines()
    return "\n".join(lines if len(lines) <= MAX_LINES else [*lines[:MAX_LINES], "…"])
