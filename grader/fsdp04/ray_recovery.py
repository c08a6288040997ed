"""Run the trainer on a real Ray, kill one of its workers, and tell what was done again."""

from collections.abc import Callable, Sequence
from typing import Any

from grader import ray_fit
from grader.fsdp04.ray_trainer import CONFIG
from grader.ray_kill import WorkerSteps
from grader.verdict import NotSolved, is_left_out, not_solved, show
from sandbox.failure import count_ranks

KILL_AT = 8  # steps; those up to the sixth are in a checkpoint


def kill_a_ray_worker(
    make_trainer: Callable[[Any, str], Any], num_workers: tuple[int, int] = (1, 2)
) -> None:
    """Fit, kill a worker on the way, and print what came of it; not while nbgrader grades."""
    if is_left_out():
        return
    try:
        done = ray_fit.fit(make_trainer, num_workers, kill_at=KILL_AT)
    except NotSolved:
        show(not_solved("kill_a_ray_worker", "make_trainer"))
        return
    except KeyboardInterrupt:
        raise ray_fit.FitStopped from None
    show("\n".join(describe_attempts(done.workers, CONFIG["num_steps"])))
    show(f"last report: {done.metrics}")
    show(f"its checkpoint: {', '.join(done.checkpoint_files)}")


def describe_attempts(workers: Sequence[WorkerSteps], num_steps: int) -> list[str]:
    """Return a line for each attempt: on how many workers, and which steps they took."""
    attempts = [worker for worker in workers if worker.rank == 0]
    killed = [worker for worker in workers if worker.was_killed]
    lines, done = [], 0
    for number, attempt in enumerate(attempts):
        is_last = number == len(attempts) - 1
        first = num_steps - attempt.num_steps if is_last else 0
        last = first + attempt.num_steps - 1
        size = count_ranks(attempt.world_size).replace("rank", "worker")
        again = f"; done again: {done - first}" if number else ""
        lines.append(f"attempt {number + 1} on {size}: steps {first} to {last}{again}")
        done = last + 1
        if number == 0 and killed:
            lines.append(f"  worker {killed[0].rank} was killed after step {last}")
    return lines
