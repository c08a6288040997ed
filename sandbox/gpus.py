"""The GPUs of this machine as plain data, and in words: what they are, and what is amiss with them.

`look` asks torch in a process of its own, so that the caller's never initialises CUDA. Written for
GPUs; so far run only where there are none, and with made-up machines.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.failure import count_ranks
from sandbox.units import format_bytes

LOOK_TIMEOUT_S = 120.0  # importing torch takes 2 s, a context on each of 8 GPUs some seconds more
BUSY_SHARE = 0.8  # less than this free: others use the GPU; a context of ours takes a few percent


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One GPU, in the order in which local ranks take them."""

    name: str
    total_bytes: int
    free_bytes: int
    capability: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Machine:
    """All GPUs that processes started here see, and what torch was built for.

    `strangers` are pairs of GPUs that cannot reach each other's memory; `architectures` those that
    torch has kernels for, such as "sm_90"; `error` is why nothing could be found out.
    """

    gpus: tuple[Gpu, ...] = ()
    strangers: tuple[tuple[int, int], ...] = ()
    wheel_cuda: str | None = None  # the CUDA release of torch's wheel; None for the CPU wheel
    architectures: tuple[str, ...] = ()
    error: str = ""


def look() -> Machine:
    """Return the GPUs of this machine, as torch finds them in another process."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "sandbox.gpus"],
            capture_output=True,
            text=True,
            timeout=LOOK_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return Machine(error=f"torch did not find out within {LOOK_TIMEOUT_S:g} s")
    if done.returncode != 0:
        return Machine(error=done.stderr.strip().rpartition("\n")[2])
    found: dict[str, Any] = json.loads(done.stdout)
    listed = [Gpu(**gpu | {"capability": tuple(gpu["capability"])}) for gpu in found.pop("gpus")]
    return Machine(gpus=tuple(listed), **{n: _as_tuple(v) for n, v in found.items()})


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


def main() -> None:
    """Print this machine's GPUs as JSON: what the other process does. Initialises CUDA."""
    import torch

    indices = range(torch.cuda.device_count())
    reach = torch.cuda.can_device_access_peer
    pairs = itertools.combinations(indices, 2)
    machine = Machine(
        gpus=tuple(map(_read_gpu, indices)),
        strangers=tuple((i, j) for i, j in pairs if not (reach(i, j) and reach(j, i))),
        wheel_cuda=torch.version.cuda,
        architectures=tuple(torch.cuda.get_arch_list()),
    )
    print(json.dumps(dataclasses.asdict(machine)))  # noqa: T201 (for the process that asked)


def _read_gpu(index: int) -> Gpu:
    import torch

    properties = torch.cuda.get_device_properties(index)
    free_bytes, total_bytes = torch.cuda.mem_get_info(index)
    capability = (properties.major, properties.minor)
    return Gpu(
        name=properties.name, total_bytes=total_bytes, free_bytes=free_bytes, capability=capability
    )


def describe(machine: Machine) -> Iterator[tuple[str, str]]:
    """Yield what was found and, where something is amiss, what to do about it (else "")."""
    if machine.error:
        yield f"cannot be used: {machine.error}", "See whether `nvidia-smi` works on this machine."
    elif machine.wheel_cuda is None:
        yield (
            "a driver is there, but torch is its CPU wheel: ranks run on the CPU with gloo",
            "Take torch's CUDA wheel: `make clean lab`, without TORCH_INDEX_URL.",
        )
    elif not machine.gpus:
        yield "a driver is there, but no GPU is visible", "See CUDA_VISIBLE_DEVICES."
    else:
        yield from _describe_gpus(machine)


def _describe_gpus(machine: Machine) -> Iterator[tuple[str, str]]:
    gpus = machine.gpus
    kinds = Counter((gpu.name, format_bytes(gpu.total_bytes), gpu.capability) for gpu in gpus)
    listed = [
        f"{n} × {name} ({size}, capability {major}.{minor})"
        for (name, size, (major, minor)), n in kinds.items()
    ]
    ranks = f"{'up to ' * (len(gpus) > 1)}{count_ranks(len(gpus))}"
    yield f"{', '.join(listed)}; torch for CUDA {machine.wheel_cuda}; NCCL for {ranks}", ""
    if len(kinds) > 1:
        yield (
            "they are of different kinds",
            "All ranks wait for the slowest, and the smallest memory is the limit: "
            "choose those of one kind with CUDA_VISIBLE_DEVICES.",
        )
    if any(" MIG " in gpu.name for gpu in gpus):
        yield (
            "slices of a GPU (MIG)",
            "torch cannot count them without initialising CUDA, after which ranks cannot be "
            "forked: make whole GPUs visible, or launch with backend='gloo'.",
        )
    for index, gpu in enumerate(gpus):
        if gpu.free_bytes < BUSY_SHARE * gpu.total_bytes:
            sizes = f"{format_bytes(gpu.free_bytes)} of {format_bytes(gpu.total_bytes)}"
            yield (
                f"GPU {index} is busy: {sizes} are free",
                "`nvidia-smi` names the programs: end them, or leave the GPU out with "
                "CUDA_VISIBLE_DEVICES.",
            )
        if not has_kernels(gpu.capability, machine.architectures):
            major, minor = gpu.capability
            yield (
                f"GPU {index} has capability {major}.{minor}; this torch has kernels for "
                f"{', '.join(machine.architectures)}",
                "Take a wheel of torch for this GPU (https://pytorch.org/get-started), or launch "
                "with backend='gloo'.",
            )
    if machine.strangers:
        yield (
            f"no direct access to each other's memory: GPUs {_list_pairs(machine.strangers)}",
            "NCCL copies through the host's memory, which is right but slower. In a container or "
            "a virtual machine, see whether PCI access control (ACS) or the IOMMU forbids it.",
        )


def _list_pairs(pairs: Sequence[tuple[int, int]]) -> str:
    more = f" and {len(pairs) - 3} more pairs" if len(pairs) > 3 else ""
    return ", ".join(f"{i} and {j}" for i, j in pairs[:3]) + more


def has_kernels(capability: tuple[int, int], architectures: Collection[str]) -> bool:
    """Whether code built for `architectures` runs on a GPU of this capability.

    Machine code (sm_86) runs on GPUs of the same major number and no lower minor one, sm_90a on 9.0
    alone, PTX (compute_90) on all later ones: CUDA C++ Programming Guide, "Compute capabilities".
    """
    names = re.findall(r"\b(sm|compute)_(\d+)(\d)(a?)", " ".join(architectures))
    for kind, major, minor, is_exact in names:
        built = (int(major), int(minor))
        is_later = capability >= built and (kind == "compute" or capability[0] == built[0])
        if capability == built or (is_later and not is_exact):
            return True
    return False


if __name__ == "__main__":
    main()
