"""What all tests share: test functions travel to ranks by value, and nothing is left running."""

from __future__ import annotations

import os
from collections.abc import Iterator

import cloudpickle
import psutil
import pytest

from sandbox.ranks import warm

# Before torch is imported: tests share the cores, and threads that wait for each other there spin.
os.environ.setdefault("OMP_NUM_THREADS", "1")


LONGEST = "test_fsdp04.py"  # begun first, so that it does not keep one worker when all are done


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Send functions of tests by value, as a notebook's: ranks then need not import pytest."""
    items.sort(key=lambda item: item.path.name != LONGEST)
    for module in {item.module for item in items if isinstance(item, pytest.Function)}:
        cloudpickle.register_pickle_by_value(module)


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left_running() -> Iterator[None]:
    """End the warm processes and check that no other process was left behind."""
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    yield
    warm.end_all()
    left = [c for c in psutil.Process().children(recursive=True) if c.pid not in before]
    assert not left, f"processes left running: {left}"
