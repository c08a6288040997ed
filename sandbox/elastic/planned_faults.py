"""The faults of an elastic launch, by generation: which of them its world can have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sandbox.elastic.elastic_run import Generation
from sandbox.errors import LaunchError
from sandbox.faults.fault import Fault, check_faults, is_whole
from sandbox.faults.join import Join

Plan = Mapping[int, Sequence[Fault]]


def check_plan(faults: Sequence[Fault] | Plan, max_world_size: int, backend: str) -> Plan:
    """Return the faults of each generation; a list is that of the first."""
    plan = faults if isinstance(faults, Mapping) else {0: faults}
    for number in plan:
        if not is_whole(number) or number < 0:
            raise LaunchError(
                f"faults has the key {number!r}, expected the number of a generation, as in "
                "faults={0: [Kill(rank=1, at=Step(3))], 1: [Join(num_ranks=1, at=Step(5))]}."
            )
    return {
        n: check_faults(each, max_world_size, backend, may_join=True) for n, each in plan.items()
    }


def choose_faults(plan: Plan, number: int, world_size: int, max_world_size: int) -> list[Fault]:
    """Return a generation's faults, without those of ranks it lacks, and Join where it is full."""
    is_full = world_size == max_world_size
    return [
        fault
        for fault in plan.get(number, ())
        if all(rank < world_size for rank in fault.ranks)
        and not (is_full and isinstance(fault, Join))
    ]


def describe_missed(plan: Plan, generations: Sequence[Generation]) -> str:
    """Return a line for each generation some of whose faults did not happen, or nothing."""
    lines = []
    for number, faults in sorted(plan.items()):
        happened = []
        if number < len(generations):
            happened = [each.fault for each in generations[number].run.faults]
        missed = [repr(f) for f in faults if f.tells and f not in happened]
        if missed:
            lines.append(f"Did not happen in generation {number}: {', '.join(missed)}.\n")
    return "".join(lines)
