"""The learner's line is found through libraries, and where a thread has no frame of its own."""

from __future__ import annotations

import _thread
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.distributed as dist

import sandbox
from sandbox.observing import callsite

# Backward passes in backward passes, so deep that autograd takes a thread of its own for the last,
# as it does on GPUs for the first.
NUM_THREADED = 61
LIBRARY = """
class Nested(torch.autograd.Function):
    @staticmethod
    def forward(context, x, depth):
        context.depth = depth
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        if context.depth == 0:
            idents.append(threading.get_ident())
            dist.all_reduce(torch.ones(1))
            return gradient, None
        with torch.enable_grad():
            inner = torch.ones(1, requires_grad=True)
            Nested.apply(inner, context.depth - 1).sum().backward()
        return gradient, None
"""


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


def test_a_thread_of_autograd_is_told_by_the_line_that_runs_backward() -> None:
    def differentiate() -> tuple[bool, int]:
        path = os.path.join(os.path.dirname(dist.__file__), "made_up.py")
        names = {"torch": torch, "dist": dist, "threading": threading, "idents": []}
        exec(compile(LIBRARY, path, "exec"), names)
        loss = names["Nested"].apply(torch.ones(1, requires_grad=True), NUM_THREADED).sum()
        line = sys._getframe().f_lineno + 1
        loss.backward()
        return names["idents"] == [threading.get_ident()], line

    run = sandbox.launch(differentiate, world_size=1)
    [(is_own_thread, line)] = run.results
    assert not is_own_thread
    [event] = run.ledger
    assert event.call_site == f"{__file__}:{line}"
