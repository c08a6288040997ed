"""FP8 and YaFSDP, which need a GPU and an installation of their own: loaded, or what is missing.

Written for GPUs; so far only what is missing has been tried.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from sandbox import backend
from sandbox.errors import NotAvailableError

FP8_CAPABILITY = (8, 9)  # tensor cores multiply FP8 from Ada (8.9) and Hopper (9.0) on


def load_fp8() -> ModuleType:
    """Return `torchao.float8`, whose `convert_to_float8_training` has linear layers compute in FP8.

    To be called in a rank. Raises NotAvailableError where the GPU cannot or the package is missing.
    """
    _check_gpu("FP8", FP8_CAPABILITY)
    return _load("torchao.float8", "FP8", "pip install 'shardlab[fp8]'")


def load_yafsdp() -> ModuleType:
    """Return `ya_fsdp.fully_shard`, with a `fully_shard` of the same name and use as torch's.

    To be called in a rank. Raises NotAvailableError where the GPU or the package is missing.
    """
    _check_gpu("YaFSDP", (0, 0))
    # Not from PyPI: what bears such a name there is another's.
    url = "pip install git+https://github.com/yandex/YaFSDP"
    return _load("ya_fsdp.fully_shard", "YaFSDP", url)


def _check_gpu(what: str, least: tuple[int, int]) -> None:
    capability = backend.capability()
    if capability is None:
        raise NotAvailableError(
            f"{what} needs a GPU, and this rank runs on the CPU. Hint: on a machine with one GPU "
            "per rank, launch with backend='nccl'."
        )
    if capability < least:
        came, wanted = (f"{major}.{minor}" for major, minor in (capability, least))
        raise NotAvailableError(
            f"{what} needs a GPU of capability {wanted} or more, this one has {came}."
        )


def _load(module: str, what: str, install: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise NotAvailableError(
            f"{what} needs {module}, which cannot be imported: {error}. Hint: {install}"
        ) from None
