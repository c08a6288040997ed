"""Run a function on ranks that may die, leave and join: start it anew until it finishes."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sandbox import backend as backends
from sandbox import limits
from sandbox.elastic.elastic_run import ElasticRun, Ended, Generation
from sandbox.elastic.generation import describe_generation
from sandbox.elastic.planned_faults import Plan, check_plan, choose_faults, describe_missed
from sandbox.errors import LaunchError, PlacesJoinedError, RankTimeoutError, SandboxError
from sandbox.failure import count_ranks
from sandbox.faults.fault import Fault, is_whole
from sandbox.faults.join import Join
from sandbox.faults.lose import Lose
from sandbox.ranks.output import show
from sandbox.run import Run
from sandbox.world import World


def launch_elastic(
    fn: Callable[..., Any],
    *args: Any,
    world_size: int | tuple[int, int] = (2, 4),
    max_restarts: int = 3,
    timeout_s: float = 60.0,
    backend: str = "auto",
    init_process_group: bool = True,
    faults: Sequence[Fault] | Mapping[int, Sequence[Fault]] = (),
    memory: bool = False,
    **kwargs: Any,
) -> ElasticRun:
    """Call `fn(*args, **kwargs)` on fresh ranks, and again whenever one fails, until it finishes.

    `world_size` is (minimum, maximum). It starts with the maximum. Each start is a *generation*,
    which `sandbox.generation()` tells `fn`; all its ranks are new processes, so `fn` has to find
    its last checkpoint itself. What ends a generation:

    - A rank dies or raises, ranks are proven to wait for each other, or they disagree: all are
      stopped, and the next generation has the same size. This uses up one of `max_restarts`.
    - `Lose(rank, at)`: a rank dies and its place is gone. The next is smaller; a restart is used.
    - `Join(num_ranks, at)`: places come. The next is larger, up to the maximum; no restart is used.

    `faults` are those of generation 0, or {generation: faults}; moments count anew in each.

    This is how torchrun's agents do it (one agent a rank, so that `Lose` takes an agent and `Join`
    brings one), and TORCHELASTIC_RESTART_COUNT, …_MAX_RESTARTS, …_RUN_ID mean what they do there:
    failures are counted, not generations. Where they differ:

    - torchrun stops ranks with SIGTERM, and those that are still there after 30 s with SIGKILL;
      here they are killed at once. It looks every 0.1 s; here a death is seen as it happens. Each
      of its agents counts failures on its own, so one that has just joined begins with 0.
    - Below the minimum torchrun waits for more agents, and fails when its rendezvous times out (10
      minutes); nobody would come here, so it is an error at once. Nor does it prove deadlocks: it
      waits until the group's own timeout raises.
    - Ray Train's `ScalingConfig(num_workers=(2, 4))` also takes as many as there is room for, and
      waits below the minimum. `FailureConfig(max_failures=…)` is as max_restarts (nodes that were
      announced to be taken away count apart). Room that has come is used at the next failure, or
      when it looks for it, every `elastic_resize_monitor_interval_s` (60).

    Returns an ElasticRun. Nothing is left running. Raises LaunchError if nothing could start, and
    the last generation's error, whose `elastic` tells of all generations, when no restart or too
    few places are left, or RankTimeoutError when all together have taken `timeout_s`.
    """
    minimum, maximum = _check_sizes(world_size)
    _check_restarts(max_restarts)
    limits.check_keywords(fn, kwargs, (*limits.OPTIONS, "max_restarts"))
    timeout_s = limits.check_timeout(timeout_s)
    backend, note = backends.choose(backend, maximum)
    plan = check_plan(faults, maximum, backend)
    show(f"{note}\n" if note else "")
    launch = _Launch(minimum, maximum, max_restarts, timeout_s, plan)

    def start(size: int, environ: dict[str, str], chosen: list[Fault], left_s: float) -> Run:
        with World(
            size, timeout_s=left_s, backend=backend, init_process_group=init_process_group
        ) as world:
            world.elastic_environ = environ
            return world.call(fn, args, kwargs, faults=chosen, memory=memory, is_last=True)

    while not launch.is_finished:
        launch.run_generation(start)
    run = launch.run_so_far()
    show(describe_missed(plan, run.generations))
    return run


MIN_TIMEOUT_S = 0.01  # of a generation that starts when the time is up
Start = Callable[[int, dict[str, str], list[Fault], float], Run]


class _Launch:
    """The state between generations: places, restarts and time that are left."""

    def __init__(
        self, minimum: int, maximum: int, max_restarts: int, timeout_s: float, plan: Plan
    ) -> None:
        self.generations: list[Generation] = []
        self._minimum = minimum
        self._maximum = maximum
        self._places = maximum
        self._max_restarts = max_restarts
        self._restart_count = 0
        self._timeout_s = timeout_s
        self._plan = plan
        self._run_id = uuid.uuid4().hex
        self._start_s = 0.0  # when the first generation started

    @property
    def is_finished(self) -> bool:
        """Whether the function has returned on all ranks."""
        return bool(self.generations) and self.generations[-1].ended is Ended.FINISHED

    def run_so_far(self) -> ElasticRun:
        """Return what has been recorded."""
        return ElasticRun(tuple(self.generations), time.monotonic() - self._start_s)

    def run_generation(self, start: Start) -> None:
        """Run the next generation to its end; raise its error where no other can follow."""
        number = len(self.generations)
        environ = describe_generation(number, self._restart_count, self._max_restarts, self._run_id)
        chosen = choose_faults(self._plan, number, self._places, self._maximum)
        called_s = time.monotonic()
        try:
            run = start(self._places, environ, chosen, self._left_s())
        except PlacesJoinedError as error:
            self._note(Ended.RESIZED, None, error.run, called_s)
        except SandboxError as error:
            if error.run is None:  # nothing could start
                raise
            self._note(Ended.FAILED, error, error.run, called_s)
            self._restart_count += 1
            if why_not := self._find_obstacle(error):
                size = count_ranks(self.generations[-1].world_size)
                error.add_lines(
                    [
                        *(f"{each!r}." for each in self.generations[:-1]),
                        f"This was generation {number}, of {size}. {why_not}",
                    ]
                )
                error.elastic = self.run_so_far()
                raise
        else:
            self._note(Ended.FINISHED, None, run, called_s)

    def _left_s(self) -> float:
        past_s = time.monotonic() - self._start_s if self.generations else 0.0
        return max(self._timeout_s - past_s, MIN_TIMEOUT_S)

    def _note(
        self, ended: Ended, error: SandboxError | None, run: Run | None, called_s: float
    ) -> None:
        """Record a generation that has just ended, and the places that came and went in it."""
        assert run is not None
        start_s = called_s + run.waited_s
        if not self.generations:
            self._start_s = start_s
        self.generations.append(
            Generation(
                number=len(self.generations),
                world_size=run.world_size,
                restart_count=self._restart_count,
                ended=ended,
                error=error,
                run=run,
                start_s=start_s - self._start_s,
            )
        )
        for each in run.faults:
            if isinstance(each.fault, Lose):
                self._places -= 1
            elif isinstance(each.fault, Join):
                self._places = min(self._places + each.fault.num_ranks, self._maximum)

    def _find_obstacle(self, error: SandboxError) -> str:
        """Return why no generation can follow one that failed, or nothing."""
        if isinstance(error, RankTimeoutError):
            return f"All generations together have timeout_s={self._timeout_s:g}."
        if self._restart_count > self._max_restarts:
            return f"No restart is left: max_restarts={self._max_restarts}."
        if self._places < self._minimum:
            return f"Places left: {self._places}, fewer than the minimum of {self._minimum}."
        return ""


def _check_sizes(world_size: int | tuple[int, int]) -> tuple[int, int]:
    """Return minimum and maximum."""
    sizes = (world_size, world_size) if isinstance(world_size, int) else world_size
    if not isinstance(sizes, tuple | list) or len(sizes) != 2:
        raise LaunchError(
            f"world_size is {world_size!r}, expected (minimum, maximum), as in (2, 4)."
        )
    minimum, maximum = map(limits.check_world_size, sizes)
    if minimum > maximum:
        raise LaunchError(
            f"world_size is {world_size!r}, expected (minimum, maximum), and {minimum} > {maximum}."
        )
    return minimum, maximum


def _check_restarts(max_restarts: int) -> None:
    if not is_whole(max_restarts) or max_restarts < 0:
        raise LaunchError(f"max_restarts is {max_restarts!r}, expected a whole number from 0.")
