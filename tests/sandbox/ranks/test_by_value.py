"""Functions in functools' wrappers and torch's operators travel; what cannot is named."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable

import pytest
import torch
import torch.distributed as dist

import sandbox


@functools.cache
def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@functools.lru_cache(maxsize=2, typed=True)
def double(n: float) -> float:
    return 2 * n


@functools.singledispatch
def name_kind(value: object) -> str:
    return "object"


@name_kind.register
def _(value: int) -> str:
    return f"int {value}"


@name_kind.register
def _(value: list) -> str:
    return ", ".join(name_kind(item) for item in value)


lock = threading.Lock()


def use_lock() -> None:
    with lock:
        pass


def use_it_indirectly() -> None:
    use_lock()


@pytest.fixture(autouse=True)
def in_the_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that they were defined in a notebook: no rank can import them by name."""
    for wrapper in (fibonacci, double, name_kind):
        monkeypatch.setattr(wrapper, "__module__", "__main__")


def test_a_cached_function_that_calls_itself_caches_in_each_rank() -> None:
    def call() -> tuple[int, int]:
        return fibonacci(60 + dist.get_rank()), fibonacci.cache_info().misses

    run = sandbox.launch(call, world_size=2)
    assert run.results == [(1548008755920, 61), (2504730781961, 62)]
    assert sandbox.launch(fibonacci, 10, world_size=1).results == [55]


def test_the_parameters_of_a_cache_are_kept() -> None:
    parameters = sandbox.launch(lambda: double.cache_parameters(), world_size=1).results
    assert parameters == [{"maxsize": 2, "typed": True}]


def test_a_single_dispatch_function_keeps_what_was_registered() -> None:
    run = sandbox.launch(lambda: [name_kind(value) for value in (1, "a", [1, "a"])], world_size=2)
    assert run.results == [["int 1", "object", "int 1, object"]] * 2


@pytest.mark.parametrize(
    ("fn", "args", "named"),
    [
        (use_lock, (), r"^lock \(a _thread.lock\), which use_lock refers to, cannot be sent"),
        (use_it_indirectly, (), r"^lock \(a _thread.lock\), which use_lock refers to, cannot be"),
        (print, ({"guard": lock},), r"^guard \(a _thread.lock\), which argument 0 refers to,"),
        (map, (use_lock, []), r"^lock \(a _thread.lock\), which use_lock refers to,"),
        (functools.partial(print, end=lock), (), r"^end \(a _thread.lock\), which .*partial"),
    ],
)
def test_the_object_that_cannot_be_sent_is_named(fn: Callable, args: tuple, named: str) -> None:
    with pytest.raises(sandbox.LaunchError, match=named):
        sandbox.launch(fn, *args, world_size=1)


def test_operators_of_torch_are_those_of_the_rank() -> None:
    operators = [torch.ops, torch.ops.aten, torch.ops.aten.add, torch.ops.aten.add.Tensor]

    def find() -> list[bool]:
        own = [torch.ops, torch.ops.aten, torch.ops.aten.add, torch.ops.aten.add.Tensor]
        return [sent is found for sent, found in zip(operators, own, strict=True)]

    assert sandbox.launch(find, world_size=2).results == 2 * [4 * [True]]
