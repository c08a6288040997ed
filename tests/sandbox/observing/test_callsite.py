"""The learner's line is found through libraries, and where a thread has no frame of its own."""

from __future__ import annotations

import _thread
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from sandbox.observing import callsite


def from_library() -> Callable[[], str | None]:
    """Return a function of a library's that asks where it was called from."""
    code = compile("lambda: find(getframe())", callsite.__file__, "eval")
    return eval(code, {"find": callsite.find, "getframe": sys._getframe})


def test_the_learners_frame_is_found_through_a_library() -> None:
    line = sys._getframe().f_lineno + 1
    assert from_library()() == f"{__file__}:{line}"


def test_a_librarys_own_thread_is_told_by_the_library() -> None:
    with ThreadPoolExecutor(1) as pool:
        site = pool.submit(from_library()).result()
    assert site is not None
    assert "concurrent/futures/thread.py:" in site


def test_a_thread_without_a_stack_is_told_by_the_main_thread() -> None:
    found: list[str | None] = []
    done = threading.Event()
    code = compile("found.append(find(getframe())); done.set()", callsite.__file__, "exec")
    names = {"find": callsite.find, "getframe": sys._getframe, "found": found, "done": done}
    _thread.start_new_thread(exec, (code, names))
    done.wait()
    assert found[0] is not None
    assert found[0].startswith(f"{__file__}:")
