"""Optional libraries: one line says which hardware or package is missing."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

import sandbox
from sandbox import backend, optional


@pytest.mark.parametrize(
    ("load", "what"), [(optional.load_fp8, "FP8"), (optional.load_yafsdp, "YaFSDP")]
)
def test_on_the_cpu_both_say_that_they_need_a_gpu(load, what) -> None:
    with pytest.raises(sandbox.RankError) as caught:
        sandbox.launch(load, world_size=1)
    assert caught.value.exc_type == "NotAvailableError"
    assert f"{what} needs a GPU, and this rank runs on the CPU. Hint:" in str(caught.value)


@pytest.mark.parametrize("capability", [(8, 0), (7, 5), (8, 6)])
def test_a_gpu_that_knows_no_fp8_is_told(monkeypatch, capability) -> None:
    monkeypatch.setattr(backend, "capability", lambda: capability)
    came = ".".join(map(str, capability))
    said = rf"^FP8 needs a GPU of capability 8\.9 or more, this one has {came}\.$"
    with pytest.raises(sandbox.NotAvailableError, match=said):
        optional.load_fp8()


@pytest.mark.parametrize(
    ("load", "module", "install"),
    [
        (optional.load_fp8, "torchao.float8", "pip install 'shardlab[fp8]'"),
        (optional.load_yafsdp, "ya_fsdp.fully_shard", "git+https://github.com/yandex/YaFSDP"),
    ],
)
def test_a_missing_package_is_named_with_its_installation(
    monkeypatch, load, module, install
) -> None:
    monkeypatch.setattr(backend, "capability", lambda: (9, 0))
    package = module.partition(".")[0]
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    with pytest.raises(sandbox.NotAvailableError) as caught:
        load()
    assert f"needs {module}, which cannot be imported: " in str(caught.value)
    assert install in str(caught.value)
    there = ModuleType(module)
    monkeypatch.setitem(sys.modules, package, ModuleType(package))
    monkeypatch.setitem(sys.modules, module, there)
    assert load() is there
