"""A fault as plain data, and what is checked of every one before anything starts."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from sandbox.errors import LaunchError
from sandbox.faults.moment import Moment

if TYPE_CHECKING:
    from sandbox.faults.injection import Injection


class Fault:
    """Something that shall go wrong in a run. Subclasses are frozen dataclasses."""

    tells: ClassVar[bool] = True  # whether it has a moment to happen, which it publishes
    needs_gloo: ClassVar[bool] = False
    needs_elastic: ClassVar[bool] = False

    @property
    def ranks(self) -> tuple[int, ...]:
        """Return the ranks that it names."""
        raise NotImplementedError

    def __repr__(self) -> str:
        """Return how to write it, without what has its default: "SlowLink(bandwidth=1e6)"."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        values = [(field, getattr(self, field.name)) for field in fields]
        given = [f"{f.name}={_write(value)}" for f, value in values if value != f.default]
        return f"{name(self)}({', '.join(given)})"

    def concerns(self, rank: int) -> bool:
        """Whether it has to be installed on `rank`."""
        return rank in self.ranks

    def install(self, injection: Injection) -> None:
        """Make ready for it. Runs in each rank that it concerns."""
        raise NotImplementedError


def check_faults(
    faults: Sequence[Fault], world_size: int, backend: str, *, may_join: bool = False
) -> list[Fault]:
    """Return the faults if this world can have them; LaunchError says which cannot be."""
    if isinstance(faults, Fault | str) or not isinstance(faults, Sequence):
        raise LaunchError(f"faults is {faults!r}, expected a list, as in faults=[Kill(rank=0, …)].")
    for fault in faults:
        if not isinstance(fault, Fault):
            raise LaunchError(
                f"faults holds {fault!r}, expected Kill, Lose, Join, Pause, Slow, SlowLink, "
                "TornWrite or DiskFull."
            )
        if fault.needs_elastic and not may_join:
            raise LaunchError(f"{fault!r} works in sandbox.launch_elastic alone.")
        for rank in fault.ranks:
            if rank >= world_size:
                raise LaunchError(
                    f"{fault!r} names rank {rank}, but world_size is {world_size}: expected ranks "
                    f"from 0 to {world_size - 1}."
                )
        if fault.needs_gloo and backend != "gloo":
            raise LaunchError(f"{fault!r} works with backend='gloo' alone, not with {backend!r}.")
    return list(faults)


def check_rank(fault: Fault, rank: Any) -> None:
    """Refuse what cannot be the number of a rank."""
    if not is_whole(rank) or rank < 0:
        raise LaunchError(
            f"{name(fault)}: rank is {rank!r}, expected a whole number from 0, as in rank=2."
        )


def check_moment(fault: Fault, at: Any) -> None:
    """Refuse what is no moment."""
    if not isinstance(at, Moment) or type(at) is Moment:
        raise LaunchError(
            f"{name(fault)}: at is {at!r}, expected Step(n), Collective(n), Save(n) or "
            "FileChange(n)."
        )


def check_amount(fault: Fault, field: str, value: Any, *, least: float, above: bool) -> None:
    """Refuse what is no finite number, or too small."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < least or (above and value == least):
        bound = f"above {least:g}" if above else f"from {least:g}"
        raise LaunchError(f"{name(fault)}: {field} is {value!r}, expected a number {bound}.")


def is_whole(value: Any) -> bool:
    """Whether this is an integer, and not a bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def name(fault: Fault) -> str:
    """Return what kind of fault it is."""
    return type(fault).__name__


def _write(value: Any) -> str:
    """Return a value as people write it: round large numbers as powers of ten."""
    if isinstance(value, float) and value >= 1e5:
        short = f"{value:g}".replace("e+0", "e").replace("e+", "e")
        if float(short) == value:
            return short
    return repr(value)
