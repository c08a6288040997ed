"""constraints.txt pins all that pyproject.toml asks for, within its bounds, for both images."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

DOCKER = Path(__file__).parents[1]
PROJECT = tomllib.loads((DOCKER.parent / "pyproject.toml").read_text("utf-8"))["project"]
LINES = (DOCKER / "constraints.txt").read_text("utf-8").splitlines()
PINNED = dict(line.split("==") for line in LINES if not line.startswith("#"))


def test_every_line_pins_one_version_without_a_build() -> None:
    for name, version in PINNED.items():
        assert canonicalize_name(name) == name
        assert re.fullmatch(r"[0-9][\w.]*", version), f"{name}: a build such as +cpu is one image's"


def test_pinned_versions_are_within_the_bounds() -> None:
    extras = PROJECT["optional-dependencies"]
    asked_for = [*PROJECT["dependencies"], *extras["cluster"], *extras["fp8"], *extras["test"]]
    for requirement in map(Requirement, asked_for):
        version = PINNED[canonicalize_name(requirement.name)]
        assert version in requirement.specifier, f"{requirement} but {version}: `make constraints`"


def test_the_gpu_image_gets_cuda_13_and_nccl_with_torch() -> None:
    assert PINNED["cuda-toolkit"].startswith("13.")
    assert PINNED["nvidia-cuda-runtime"].startswith("13.")
    assert PINNED["nvidia-nccl-cu13"].startswith("2.")
    base = re.search(r"GPU_BASE=nvidia/cuda:(\d+\.\d+)", (DOCKER / "Dockerfile").read_text("utf-8"))
    assert PINNED["cuda-toolkit"].startswith(base[1] + ".")
