"""What a forked rank does: wire up its output and its group, run calls, send results back."""

from __future__ import annotations

import atexit
import concurrent.futures.thread
import contextlib
import errno
import io
import marshal
import os
import pickle
import random
import select
import signal
import socket
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NoReturn

import numpy
import torch
import torch.distributed as dist

from sandbox import backend, failure, source
from sandbox.faults.injection import Injection
from sandbox.observing import observe
from sandbox.observing.steps import Steps
from sandbox.observing.threads import Siblings, count_others
from sandbox.ranks import namespace, streams, wire
from sandbox.ranks.result import dump_result

LOOK_S = 0.1  # how often an idle rank looks after threads that live on
GROUP_TIMEOUT = timedelta(
    hours=12
)  # the caller's own timeout ends a call; gloo's must not be first

CLOSED = (
    "This rank can no longer answer: its connection to the notebook was closed. Hint: close only "
    "what your code has opened; os.closerange closes other file descriptors as well.\n"
)


def main(rank: int, settings: dict, files: list[int]) -> NoReturn:
    """Serve this rank's calls until the owner closes the socket. Never returns."""
    control, events, output = files
    status = 0
    try:
        streams.redirect(output)
        _adopt(settings)
        Rank(rank, settings, socket.socket(fileno=control), events).serve()
    except EOFError:
        pass
    except BaseException as error:
        if isinstance(error, OSError) and error.errno == errno.EBADF:
            sys.stderr.write(CLOSED)
        else:
            sys.excepthook(*sys.exc_info())
        status = 1
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        # Not sys.exit: gloo's threads may still be inside a broken connection.
        os._exit(status)


def _adopt(settings: dict) -> None:
    """Take over the caller's folder, import path and environment; draw fresh random seeds."""
    os.chdir(settings["cwd"])
    sys.path[:] = settings["sys_path"]
    os.environ.clear()
    os.environ.update(settings["environ"])
    sys.modules["__main__"] = types.ModuleType("__main__")
    # DeepSpeed still calls the collectives by their old names: not the learner's business.
    warnings.filterwarnings("ignore", r"`torch\.distributed\.\w+` is deprecated", FutureWarning)
    # Nor is that a barrier takes the GPU that was chosen for this rank.
    warnings.filterwarnings("ignore", r"barrier\(\): using the device under current context")
    atexit._clear()  # what libraries registered in the warm process is not this rank's to run
    random.seed()
    numpy.random.seed()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # only a running call can be interrupted


class Rank:
    """One rank: its sockets and its group."""

    def __init__(self, rank: int, settings: dict, control: socket.socket, events: int) -> None:
        self.rank = rank
        self.settings = settings
        self.control = control
        self.events = events
        self.pid = os.getpid()
        self._group_error: RuntimeError | None = None
        self._num_threads = 0  # that the last call left running
        self._siblings = Siblings()
        signal.signal(signal.SIGUSR1, self._say_where)
        # A child that the learner forks must not answer in our name.
        os.register_at_fork(after_in_child=self._silence)
        self.recorder = observe.install(
            rank=rank,
            world_size=settings["world_size"],
            store_path=settings["store_path"],
            publish=self.publish,
        )
        self.steps = Steps(self.recorder)

    def publish(self, record: tuple) -> None:
        """Hand one record to the monitor; short ones are atomic, so threads need no lock."""
        body = marshal.dumps(record)
        os.write(self.events, wire.HEADER.pack(len(body)) + body)

    def serve(self) -> None:
        """Run calls one after the other until the owner is gone (EOFError)."""
        self._form_group()
        while True:
            self._tell_threads_until_called()
            kind, *rest = wire.receive(self.control)[0]
            if kind == "call":
                self._call(*rest)
            elif kind == "rebuild":
                self._rebuild(*rest)
            else:
                raise AssertionError(kind)

    def _call(self, number: int, payload: bytes, faults: bytes, fresh: bool) -> None:
        """Run one call and report it: ("result", bytes) or ("error", ...), then ("finished",)."""
        self.steps.begin_call()
        with Injection(pickle.loads(faults), self.recorder, self.steps) as injection:
            self._run(number, payload, fresh, injection)

    def _run(self, number: int, payload: bytes, fresh: bool, injection: Injection) -> None:
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if self._group_error is not None:
                raise self._group_error
            function, args, kwargs = load_call(payload)
            result = function(*args, **kwargs)
            injection.reach_end()
            if not fresh:
                self.recorder.tell_unwaited(is_over=False)
            answer: tuple = ("result", dump_result(result))
        except BaseException as error:
            self.recorder.unwaited.clear()
            answer = ("error", failure.capture(error, time.monotonic()))
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.recorder.release_ends()
        if os.getpid() != self.pid:  # the function forked, and this is the child
            os._exit(0)
        with contextlib.suppress(ValueError, OSError):  # the learner closed it
            sys.stdout.flush()
            sys.stderr.flush()
        self._siblings = Siblings()
        self._num_threads = count_others(self._siblings)
        wire.send(self.control, (answer[0], number, *answer[1:], self._num_threads))
        if fresh:
            end_like_a_process()
            self.recorder.tell_unwaited(is_over=True)
            wire.send(self.control, ("finished", number))

    def _tell_threads_until_called(self) -> None:
        """While threads of the last call live on, tell the owner whenever their number changes."""
        while self._num_threads and not select.select([self.control], [], [], LOOK_S)[0]:
            num_threads = count_others(self._siblings)
            if num_threads != self._num_threads:
                self._num_threads = num_threads
                wire.send(self.control, ("threads", num_threads))

    def _rebuild(self, store_path: str, world_size: int) -> None:
        """Leave all groups; say which variables are bound to them."""
        bound = bound_to_groups(namespace.variables())
        self.settings["world_size"] = world_size
        os.environ["WORLD_SIZE"] = os.environ["LOCAL_WORLD_SIZE"] = str(world_size)
        observe.rebuild(store_path, world_size)
        self._group_error = None
        wire.send(self.control, ("rebuilt", bound))
        self._form_group()

    def _form_group(self) -> None:
        """Make the default group, unless it is the function's to make; the owner is told.

        Where that fails, because another rank is gone already, the next call says so.
        """
        try:
            backend.use_device(self.settings["backend"], self.rank)
            if self.settings["init_process_group"]:
                self._init_process_group()
        except RuntimeError as error:
            self._group_error = error
        wire.send(self.control, ("formed",))

    def _init_process_group(self) -> None:
        dist.init_process_group(
            self.settings["backend"],
            init_method="env://",
            rank=self.rank,
            world_size=self.settings["world_size"],
            timeout=GROUP_TIMEOUT,
        )

    def _say_where(self, _: int, frame: types.FrameType | None) -> None:
        """Publish the learner's line that runs now: the owner asks when the time is up."""
        while frame is not None and not source.is_learners(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is not None:
            self.publish(("at", f"{frame.f_code.co_filename}:{frame.f_lineno}"))

    def _silence(self) -> None:
        with contextlib.suppress(OSError):
            self.control.close()
            os.close(self.events)
        observe.silence()


def bound_to_groups(variables: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of variables that hold process groups, meshes, or sharded parameters."""
    from torch.distributed.tensor import DTensor

    def is_bound(value: Any) -> bool:
        if isinstance(value, dist.ProcessGroup | dist.DeviceMesh | DTensor):
            return True
        if isinstance(value, torch.optim.Optimizer):
            return any(is_bound(p) for group in value.param_groups for p in group["params"])
        if isinstance(value, torch.nn.Module):
            wrapped = any(hasattr(module, "process_group") for module in value.modules())
            return wrapped or any(map(is_bound, value.parameters()))
        return False

    return tuple(name for name, value in variables.items() if is_bound(value))


def end_like_a_process() -> None:
    """Do what ends a process: pools finish what they were given, threads come home, atexit runs."""
    concurrent.futures.thread._python_exit()
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()  # the learner's alone: inherited ones were cleared


class _CallUnpickler(pickle.Unpickler):
    """Gives functions of the notebook this rank's namespace, so that their globals persist."""

    def find_class(self, module: str, name: str) -> Any:
        ours = {
            "_make_function": namespace.make_function,
            "_function_setstate": namespace.set_function_state,
        }
        found = super().find_class(module, name)
        return ours.get(name, found) if module == "cloudpickle.cloudpickle" else found


def load_call(payload: bytes) -> tuple[Callable, tuple, dict]:
    """Return the function and the arguments of one call."""
    return _CallUnpickler(io.BytesIO(payload)).load()
