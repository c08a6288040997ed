"""doctor: each line says what was found, and a failed one what to do about it."""

from __future__ import annotations

from collections import namedtuple
from types import SimpleNamespace

import pytest

from sandbox import doctor
from sandbox.gpus import Machine

Usage = namedtuple("Usage", "total used free")
Memory = namedtuple("Memory", "available")


def test_a_machine_that_can_run_the_course_is_told_so(capsys: pytest.CaptureFixture) -> None:
    assert doctor.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "This machine can run the course."
    assert all(line.startswith("✓") for line in lines[:-1])
    subjects = {line[2:].partition(":")[0] for line in lines[:-1]}
    assert {
        "Python",
        "torch",
        "deepspeed",
        "ray",
        "memory",
        "loopback",
        "open files",
        "GPUs",
    } <= subjects
    assert "✓ 4 ranks on gloo: started, added up and ended" in "\n".join(lines)


def test_a_failed_line_says_what_to_do_and_the_exit_status_is_1(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psutil.virtual_memory", lambda: Memory(1_200_000_000))
    monkeypatch.setattr(doctor, "CHECKS", (doctor.check_memory,))
    assert doctor.main() == 1
    first, advice, last = capsys.readouterr().out.splitlines()
    assert first.startswith("✗ memory: 1.2 GB free")
    assert "4 GB are needed: close programs, or give the container more." in advice
    assert last == "Something is missing."


def test_a_small_shared_memory_names_the_docker_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(0, 0, 64_000_000))
    monkeypatch.setattr("os.path.isdir", lambda _: True)
    advice = {finding.subject: finding.advice for finding in doctor.check_disk()}
    assert "--shm-size" in advice["shared memory"]
    assert "TMPDIR" in advice["temporary files"]


def test_a_package_that_cannot_be_imported_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "PACKAGES", ("no_such_package",))
    (finding,) = doctor.check_packages()
    assert finding.found.startswith("cannot be imported")
    assert "make lab" in finding.advice


def test_blocked_loopback_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("Operation not permitted")

    monkeypatch.setattr("socket.create_server", refuse)
    (finding,) = doctor.check_loopback()
    assert "Operation not permitted" in finding.found
    assert finding.advice


def test_gpus_that_cannot_be_used_do_not_stop_the_course(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbox.backend.has_nvidia_driver", lambda: True)
    monkeypatch.setattr("sandbox.gpus.look", lambda: Machine(wheel_cuda="13.0"))
    monkeypatch.setattr(doctor, "CHECKS", (doctor.check_gpus,))
    assert doctor.main() == 0
    first, advice, last = capsys.readouterr().out.splitlines()
    assert first == "! GPUs: a driver is there, but no GPU is visible"
    assert "CUDA_VISIBLE_DEVICES" in advice
    assert last == "This machine can run the course."


def test_a_misspelt_setting_of_nccl_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(doctor.check_nccl()) == []
    monkeypatch.setenv("NCCL_ALGOS", "Ring")
    (finding,) = doctor.check_nccl()
    assert finding.found.endswith("documents no such variable. Hint: did you mean NCCL_ALGO?")
    assert not finding.is_needed


def test_ranks_are_tried_on_all_gpus_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def launch(fn: object, *, world_size: int, backend: str) -> SimpleNamespace:
        asked.append((backend, world_size))
        return SimpleNamespace(results=[1.0] * world_size)

    monkeypatch.setattr("sandbox.backend.has_nvidia_driver", lambda: True)
    monkeypatch.setattr("sandbox.backend.count_gpus", lambda: 2)
    monkeypatch.setattr("sandbox.launch", launch)
    on_cpu, on_gpus = doctor.check_ranks()
    assert set(asked) == {("gloo", 4), ("nccl", 2)}
    assert "Expected [6.0, 6.0, 6.0, 6.0]" in on_cpu.advice
    assert on_gpus.subject == "2 ranks on nccl"
    assert not on_gpus.advice


def test_without_a_place_for_temporary_files_one_line_says_so(monkeypatch) -> None:
    def look() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr("tempfile.gettempdir", look)
    (finding,) = doctor.check_disk()
    assert (finding.found, finding.is_needed) == ("no folder can be written to", True)
    assert "--tmpfs /tmp:exec" in finding.advice
