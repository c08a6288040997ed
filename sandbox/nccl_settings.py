"""Settings of NCCL, checked: unknown names, values it does not accept, and what contradicts."""

from __future__ import annotations

import contextlib
import difflib
import os
from collections.abc import Iterator, Mapping

from sandbox.errors import LaunchError
from sandbox.nccl_variables import VARIABLES, VERSION

MAX_SOCKETS = 64  # of one connection
SET_BY_LAUNCH = "NCCL_SOCKET_IFNAME"  # the ranks of a launch meet on loopback


@contextlib.contextmanager
def nccl(**settings: object) -> Iterator[None]:
    """Set variables of NCCL for the ranks that are started inside, and unset them after it.

        with sandbox.nccl(NCCL_ALGO="Ring", NCCL_DEBUG="INFO"):
            sandbox.launch(train, backend="nccl")

    Ranks read them when they start: those of a World that already has ranks do not. Raises
    LaunchError, with a line for each, for a name that NCCL does not document, a value that it does
    not accept, and settings that contradict each other or those of the environment.
    """
    asked = {name: str(value) for name, value in settings.items()}
    others = set_in_environment()
    not_ours = find_problems(others)
    problems = [line for line in find_problems({**others, **asked}) if line not in not_ours]
    if SET_BY_LAUNCH in asked:
        problems.append(f"{SET_BY_LAUNCH}: launch sets it itself, to loopback. Hint: leave it out.")
    if problems:
        raise LaunchError("\n".join(problems))
    before = {name: os.environ.get(name) for name in asked}
    os.environ.update(asked)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


class Explanation(str):
    """Lines of text; a notebook shows them as they are."""

    __repr__ = str.__str__


def explain_nccl(*names: str) -> Explanation:
    """Return what each variable does and which values it takes; without names, of all.

    Raises LaunchError for a name that NCCL does not document.
    """
    if unknown := [_describe_unknown(name) for name in names if name not in VARIABLES]:
        raise LaunchError("\n".join(unknown))
    return Explanation("\n".join(str(VARIABLES[name]) for name in names or VARIABLES))


def set_in_environment() -> dict[str, str]:
    """Return NCCL's variables as they are set now."""
    return {name: value for name, value in os.environ.items() if name.startswith("NCCL_")}


def find_problems(settings: Mapping[str, str]) -> list[str]:
    """Return a line for each setting that NCCL would not take, or that contradicts another."""
    unknown = [_describe_unknown(name) for name in settings if name not in VARIABLES]
    known = {name: value for name, value in settings.items() if name in VARIABLES}
    refused = {name: VARIABLES[name].refusal(value) for name, value in known.items()}
    lines = [f"{name}: {reason}." for name, reason in refused.items() if reason]
    taken = {name: value for name, value in known.items() if not refused[name]}
    return [*unknown, *lines, *_find_contradictions(taken)]


def _describe_unknown(name: str) -> str:
    if not name.startswith("NCCL_"):
        return f"{name}: expected a name that begins with NCCL_. Hint: set others in os.environ."
    near = difflib.get_close_matches(name, VARIABLES, n=1)
    hint = f" Hint: did you mean {near[0]}?" if near else ""
    return f"{name}: NCCL {VERSION} documents no such variable.{hint}"


def _find_contradictions(settings: Mapping[str, str]) -> Iterator[str]:
    yield from _check_channels(settings)
    yield from _check_sockets(settings)
    yield from _check_algorithms(settings)
    of_cards = [name for name in settings if name.startswith("NCCL_IB_")]
    if settings.get("NCCL_IB_DISABLE") == "1" and len(of_cards) > 1:
        of_cards.remove("NCCL_IB_DISABLE")
        yield f"NCCL_IB_DISABLE=1: without InfiniBand, nothing reads {', '.join(of_cards)}."
    elif settings.get("NCCL_NET", "").lower() == "socket" and of_cards:
        yield f"NCCL_NET={settings['NCCL_NET']}: sockets do not read {', '.join(of_cards)}."
    if settings.get("NCCL_IB_DISABLE") == "1" and settings.get("NCCL_NET", "").lower() == "ib":
        yield "NCCL_IB_DISABLE=1 forbids the network that NCCL_NET=IB demands."
    if settings.get("NCCL_P2P_DISABLE") == "1" and "NCCL_P2P_LEVEL" in settings:
        yield "NCCL_P2P_DISABLE=1 forbids what NCCL_P2P_LEVEL allows up to a distance."
    searched = [f"NCCL_IB_{name}" for name in ("ADDR_FAMILY", "ADDR_RANGE", "ROCE_VERSION_NUM")]
    unread = [name for name in searched if name in settings]
    if int(settings.get("NCCL_IB_GID_INDEX", -1)) >= 0 and unread:
        yield f"NCCL_IB_GID_INDEX chooses the address; nothing reads {', '.join(unread)}."


def _check_channels(settings: Mapping[str, str]) -> Iterator[str]:
    """The old and the new names: of both, the higher minimum and the lower maximum count."""
    fewest = [n for n in ("NCCL_MIN_CTAS", "NCCL_MIN_NCHANNELS") if n in settings]
    most = [n for n in ("NCCL_MAX_CTAS", "NCCL_MAX_NCHANNELS") if n in settings]
    for low in fewest:
        for high in most:
            if int(settings[low]) > int(settings[high]):
                yield f"{low}={settings[low]} is above {high}={settings[high]}."


def _check_sockets(settings: Mapping[str, str]) -> Iterator[str]:
    num_threads = int(settings.get("NCCL_SOCKET_NTHREADS", 1))
    num_each = int(settings.get("NCCL_NSOCKS_PERTHREAD", 1))
    if num_threads * num_each > MAX_SOCKETS:
        yield (
            f"NCCL_SOCKET_NTHREADS {num_threads} × NCCL_NSOCKS_PERTHREAD {num_each} = "
            f"{num_threads * num_each} sockets, expected at most {MAX_SOCKETS}."
        )


def _check_algorithms(settings: Mapping[str, str]) -> Iterator[str]:
    """Since NCCL 2.24 an operation fails for which no algorithm is left; broadcast knows Ring."""
    general, _, _ = settings.get("NCCL_ALGO", "ring").lower().partition(";")
    if ":" in general:
        return
    if general.startswith("^") is ("ring" in general.removeprefix("^").split(",")):
        yield (
            f"NCCL_ALGO={settings['NCCL_ALGO']} leaves out Ring, the only algorithm that every "
            "operation knows (Tree is for all_reduce alone). Hint: add Ring, or say for which "
            "operation, as in NCCL_ALGO=allreduce:tree."
        )
