"""The one place that knows gloo from NCCL and CPU from CUDA."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING

from sandbox.errors import LaunchError

if TYPE_CHECKING:
    import torch

BACKENDS = ("auto", "gloo", "nccl")
# Libraries look for GPUs by themselves: DeepSpeed when it is imported, Ray Train when it chooses
# how ranks talk. On the CPU they are to find none.
ACCELERATORS = {
    "gloo": {"DS_ACCELERATOR": "cpu", "CUDA_VISIBLE_DEVICES": ""},
    "nccl": {"DS_ACCELERATOR": "cuda"},
}

# Set in the warm process before its imports. One thread per rank: ranks outnumber cores. NVML,
# unlike the CUDA runtime, counts GPUs without initialising CUDA, which would forbid forking.
WARM_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # jemalloc's pool would start a thread
    # C's own stdout too: ranks end without emptying its buffer, in which NCCL's log would be lost.
    "PYTHONUNBUFFERED": "1",
    # Huge pages for all that Python and torch allocate at import: on Linux a fork then copies 200
    # page-table entries instead of 90,000 (2 ms, not 12), and as much less is undone at its end.
    "PYTHONMALLOC": "malloc",
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}
_on_cpu: ContextVar[bool] = ContextVar("on_cpu", default=False)
LOOPBACK = "lo0" if sys.platform == "darwin" else "lo"


def warm_environment(backend: str) -> dict[str, str]:
    """Return the variables that the warm process of a backend starts with."""
    return WARM_ENVIRONMENT | ACCELERATORS[backend]


def count_gpus() -> int:
    """Return the number of CUDA devices; no context is created."""
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    import torch

    return torch.cuda.device_count()


def choose(backend: str, world_size: int) -> tuple[str, str | None]:
    """Return the backend to use and, where "auto" could not take the GPUs, a line that says why."""
    if backend not in BACKENDS:
        raise LaunchError(f"backend is {backend!r}, expected one of {', '.join(BACKENDS)}.")
    if backend == "auto" and _on_cpu.get():
        return "gloo", None
    num_gpus = count_gpus() if backend != "gloo" and has_nvidia_driver() else 0
    if backend == "nccl" and num_gpus < world_size:
        raise LaunchError(
            f"backend 'nccl' needs one GPU per rank: {world_size} ranks, {num_gpus} GPUs. "
            "Hint: launch fewer ranks, or take backend='gloo', which runs on the CPU."
        )
    if backend != "auto":
        return backend, None
    if num_gpus >= world_size:
        return "nccl", None
    if num_gpus:
        return "gloo", f"{world_size} ranks, {num_gpus} GPUs: running on the CPU with gloo."
    return "gloo", None


@contextlib.contextmanager
def on_cpu() -> Iterator[None]:
    """Let "auto" take gloo inside, GPUs or not: to see the same on both."""
    token = _on_cpu.set(True)
    try:
        yield
    finally:
        _on_cpu.reset(token)


def has_nvidia_driver() -> bool:
    """Whether the kernel driver is loaded: one look, so that CPU users import no torch for it."""
    return os.path.exists("/proc/driver/nvidia/version") or os.path.exists("/dev/dxg")


def rank_environment(rank: int, world_size: int, backend: str) -> dict[str, str]:
    """Return the variables that torchrun would set, and gloo's interface: loopback alone."""
    return ACCELERATORS[backend] | {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(world_size),
        "LOCAL_WORLD_SIZE": str(world_size),
        "GROUP_RANK": "0",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "0",  # unused: ranks meet through a file
        "GLOO_SOCKET_IFNAME": LOOPBACK,
        "NCCL_SOCKET_IFNAME": LOOPBACK,
        "OMP_NUM_THREADS": "1",
        "SANDBOX_BACKEND": backend,
    }


def use_device(backend: str, rank: int) -> None:
    """Bind this rank to its GPU, so that none lands on GPU 0 by default."""
    if backend == "nccl":
        import torch

        torch.cuda.set_device(rank)


def _is_on_gpu() -> bool:
    """Whether this process is a rank with a GPU of its own."""
    return os.environ.get("SANDBOX_BACKEND") == "nccl"


def finish_work() -> None:
    """Wait until this rank's GPU has done what it was given to do; the CPU always has."""
    if _is_on_gpu():
        import torch

        torch.cuda.synchronize()


def leave_groups() -> None:
    """Leave all process groups of this rank, however stuck they are.

    NCCL's are aborted: to destroy them waits for their kernels, which may wait for ranks that are
    gone. Not run on a GPU so far.
    """
    from torch.distributed import distributed_c10d as c10d

    if c10d.get_backend() == "nccl":
        c10d._abort_process_group()
    else:
        c10d.destroy_process_group()


def allocated_bytes() -> int | None:
    """Return what torch's allocator has handed out on this rank's GPU; None on the CPU.

    Not run on a GPU so far.
    """
    import torch

    if _is_on_gpu():
        return torch.cuda.memory_allocated()
    return None


def capability() -> tuple[int, int] | None:
    """Return the compute capability of this rank's GPU; None on the CPU.

    Not run on a GPU so far.
    """
    import torch

    if _is_on_gpu():
        return torch.cuda.get_device_capability()
    return None


def device() -> torch.device:
    """Return the device of this rank: its own GPU under NCCL, else the CPU."""
    import torch

    if _is_on_gpu():
        return torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    return torch.device("cpu")
