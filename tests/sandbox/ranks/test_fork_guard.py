"""An import that forbids the warm process to fork is named, and the next launch starts anew."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
import torch

import sandbox
from sandbox.ranks import fork_guard, warm

pytestmark = pytest.mark.timeout(240)  # warm processes start anew, seconds each
TOUCHES_TORCH = "import torch\ntorch.cuda._initialized = True"  # what _lazy_init leaves behind
LOADS_DRIVER = "import ctypes\ndriver = ctypes.CDLL({path!r})"
STARTS_THREAD = """
import threading
threading.Thread(target=threading.Event().wait, name="poller", daemon=True).start()
"""
TORCH_WITH_CUDA = """
import sys, types
cuda = types.SimpleNamespace(is_initialized=lambda: True)
sys.modules["torch"] = types.SimpleNamespace(cuda=cuda)
"""
DRIVER = """  // the two calls that matter, as cuda.h says they answer
static int ready = 0;
int cuInit(unsigned flags) { ready = 1; return 0; }
int cuDeviceGetCount(int *count) { *count = 1; return ready ? 0 : 3; }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder from which the warm processes of this module can import."""
    folder = tmp_path_factory.mktemp("modules")
    warm.end_all()
    with pytest.MonkeyPatch.context() as patch:
        paths = [str(folder), os.environ.get("PYTHONPATH", "")]
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
        yield folder
    warm.end_all()


@pytest.fixture
def preload(folder, monkeypatch: pytest.MonkeyPatch):
    """Write a module and have the warm process import it before the next launch."""
    monkeypatch.setattr(warm, "_preloaded", set())

    def write(name: str, text: str) -> None:
        (folder / f"{name}.py").write_text(text)
        warm.preload(name)

    return write


@pytest.fixture(scope="module")
def driver(tmp_path_factory) -> str:
    """Return the path of a library that calls itself libcuda.so.1."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler for a stand-in of the CUDA driver")  # nothing else needs one
    path = tmp_path_factory.mktemp("driver") / "libcuda.so.1"
    path.with_suffix(".c").write_text(DRIVER)
    build = [compiler, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", path]
    subprocess.run([*build, path.with_suffix(".c")], check=True)
    return str(path)


def one() -> int:
    return 1


def test_imports_that_forbid_to_fork_are_named_until_they_are_mended(preload) -> None:
    preload("innocent", "")
    preload("touches_a_gpu", TOUCHES_TORCH)
    preload("starts_a_thread", STARTS_THREAD)
    with pytest.raises(sandbox.LaunchError) as caught:
        sandbox.launch(one, world_size=1)
    of_threads, of_cuda = sorted(str(caught.value).splitlines())
    assert of_cuda.startswith("`import touches_a_gpu` initialised CUDA (torch.cuda) in the warm")
    assert "Hint: at import nothing may be put on a GPU" in of_cuda
    assert of_threads.startswith("`import starts_a_thread` started a thread (poller) in the warm")
    preload("touches_a_gpu", "")
    preload("starts_a_thread", "")
    assert sandbox.launch(one, world_size=1).results == [1]


def test_a_driver_that_somebody_else_initialised_is_noticed(preload, driver) -> None:
    preload("only_loads", LOADS_DRIVER.format(path=driver))
    assert sandbox.launch(one, world_size=1).results == [1]
    preload("calls_the_driver", LOADS_DRIVER.format(path=driver) + "\ndriver.cuInit(0)")
    with pytest.raises(sandbox.LaunchError, match=r"^`import calls_the_driver` .*not by torch"):
        sandbox.launch(one, world_size=1)


def test_what_python_runs_at_its_start_is_to_blame_before_any_import(tmp_path) -> None:
    (tmp_path / "sitecustomize.py").write_text(TORCH_WITH_CUDA)
    code = "from sandbox.ranks.fork_guard import ForkGuard; print(ForkGuard().refusal())"
    environ = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    command = [sys.executable, "-c", code]
    said = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    assert said.stdout.startswith("what Python runs at its start (sitecustomize, .pth files) init")


def test_a_notebook_that_uses_its_gpu_can_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "_initialized", True)
    assert fork_guard.initialised_cuda() == "torch.cuda"
    assert sandbox.launch(one, world_size=1).results == [1]
