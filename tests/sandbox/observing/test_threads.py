"""Which threads count as still able to act."""

from __future__ import annotations

import _thread
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from sandbox.observing.elsewhere import run_elsewhere
from sandbox.observing.threads import Siblings


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """What threads wait for; they are gone before the next test's may get their numbers."""
    before = set(threading.enumerate())
    event = threading.Event()
    yield event
    event.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(20)


def start(target: object, *args: object) -> threading.Thread:
    thread = threading.Thread(target=target, args=args, daemon=True)
    thread.start()
    return thread


@pytest.fixture
def look_until() -> Callable[[set[int | None]], None]:
    """Look again and again, as a waiting thread does, until that is what is new."""
    before = set(Siblings().running())

    def look(expected: set[int | None]) -> None:
        siblings = Siblings()
        while set(siblings.running()) - before != expected:
            pass

    return look


@pytest.mark.timeout(20)
def test_a_thread_that_waits_for_anything_but_an_end_may_act(
    release: threading.Event, look_until: Callable
) -> None:
    thread = start(release.wait)
    look_until({thread.ident})


@pytest.mark.timeout(20)
def test_a_thread_that_joins_another_waits_for_it_alone(
    release: threading.Event, look_until: Callable
) -> None:
    worker = start(release.wait)
    joiner = start(worker.join)
    look_until({worker.ident})
    impatient = start(lambda: worker.join(timeout=60))
    look_until({worker.ident, impatient.ident})
    assert joiner.is_alive()


@pytest.mark.timeout(20)
def test_an_idle_worker_of_a_pool_is_known_at_the_second_look(
    release: threading.Event, look_until: Callable
) -> None:
    with ThreadPoolExecutor(1) as pool:
        worker = pool.submit(threading.get_ident).result()
        look_until(set())
        assert worker in Siblings().running()  # a first look is not enough
        pool.submit(release.wait)
        look_until({worker})
        release.set()


@pytest.mark.timeout(20)
def test_threads_that_serve_a_library_do_not_count(look_until: Callable) -> None:
    import multiprocessing

    jobs = multiprocessing.Queue()
    jobs.put(1)  # starts the thread that feeds the pipe
    assert any("Feeder" in thread.name for thread in threading.enumerate())
    look_until(set())
    assert jobs.get() == 1
    jobs.close()
    jobs.join_thread()


@pytest.mark.timeout(20)
def test_to_a_backends_own_thread_the_main_thread_may_act() -> None:
    seen: queue.Queue[tuple[int, ...]] = queue.Queue()
    _thread.start_new_thread(lambda: seen.put(Siblings().running()), ())
    assert threading.main_thread().ident in seen.get()


@pytest.mark.timeout(20)
def test_a_thread_that_threading_does_not_know_may_act(
    release: threading.Event, look_until: Callable
) -> None:
    ident = _thread.start_new_thread(release.wait, ())
    look_until({ident})
    release.set()
    look_until(set())  # nobody can join it, and the next thread may get its number


@pytest.mark.timeout(20)
def test_our_own_helpers_do_not_count(release: threading.Event, look_until: Callable) -> None:
    run_elsewhere(lambda: None, lambda: None)  # leaves one that has nothing to do
    waiting = start(lambda: run_elsewhere(release.wait, lambda: None))
    look_until({waiting.ident})
