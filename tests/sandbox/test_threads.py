"""Which threads count as still able to act."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from sandbox.threads import Siblings


@pytest.fixture
def release() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def start(target: object, *args: object) -> threading.Thread:
    thread = threading.Thread(target=target, args=args, daemon=True)
    thread.start()
    return thread


def look_until(expected: set[int]) -> None:
    """Look again and again, as a waiting thread does, until that is what is seen."""
    siblings = Siblings()
    while set(siblings.running()) != expected:
        pass


@pytest.fixture(autouse=True)
def _no_other_threads() -> None:
    look_until(set())


@pytest.mark.timeout(20)
def test_a_thread_that_waits_for_anything_but_an_end_may_act(release: threading.Event) -> None:
    thread = start(release.wait)
    look_until({thread.ident})
    assert Siblings().running() == (thread.ident,)


@pytest.mark.timeout(20)
def test_a_thread_that_joins_another_waits_for_it_alone(release: threading.Event) -> None:
    worker = start(release.wait)
    joiner = start(worker.join)
    look_until({worker.ident})
    impatient = start(lambda: worker.join(timeout=60))
    look_until({worker.ident, impatient.ident})
    assert joiner.is_alive()


@pytest.mark.timeout(20)
def test_an_idle_worker_of_a_pool_is_known_at_the_second_look(release: threading.Event) -> None:
    with ThreadPoolExecutor(1) as pool:
        worker = pool.submit(threading.get_ident).result()
        look_until(set())
        assert Siblings().running() == (worker,)  # a first look is not enough
        pool.submit(release.wait)
        look_until({worker})
        release.set()


@pytest.mark.timeout(20)
def test_threads_that_serve_a_library_do_not_count() -> None:
    import multiprocessing

    jobs = multiprocessing.Queue()
    jobs.put(1)  # starts the thread that feeds the pipe
    assert any("Feeder" in thread.name for thread in threading.enumerate())
    look_until(set())
    assert jobs.get() == 1
    jobs.close()
    jobs.join_thread()
    assert isinstance(queue.Queue, type)
