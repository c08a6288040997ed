"""What all tests share: test functions travel to ranks by value, and nothing is left running."""

from __future__ import annotations

from collections.abc import Iterator

import cloudpickle
import psutil
import pytest

from sandbox.ranks import warm


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Send functions of tests by value, as a notebook's: ranks then need not import pytest."""
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
