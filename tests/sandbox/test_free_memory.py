"""Free memory is the machine's, or what a container's limit leaves, in either cgroup version."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from sandbox.free_memory import free_memory_bytes

MACHINE = 20_000


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=MACHINE))


def write(cgroup: Path, limit: str, used: str, value: str) -> None:
    for name, text in ((limit, value), (used, "700\n")):
        (cgroup / name).parent.mkdir(exist_ok=True)
        (cgroup / name).write_text(text)
    (cgroup / limit).with_name("memory.stat").write_text("anon 600\ninactive_file 100\n")


@pytest.mark.parametrize(
    ("limit", "used", "no_limit"),
    [
        ("memory.max", "memory.current", "max\n"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", f"{2**63 - 4096}\n"),
    ],
)
def test_a_container_has_what_its_limit_leaves(tmp_path, limit, used, no_limit) -> None:
    write(tmp_path, limit, used, no_limit)
    assert free_memory_bytes(tmp_path) == MACHINE
    write(tmp_path, limit, used, "1000\n")
    assert free_memory_bytes(tmp_path) == 400
    write(tmp_path, limit, used, "500\n")
    assert free_memory_bytes(tmp_path) == 0


def test_without_cgroups_it_is_the_machines(tmp_path: Path) -> None:
    assert free_memory_bytes(tmp_path) == MACHINE
