"""What the images and manifests name exists where it is published: `make published`, online.

KubeRay's CRD, the base images on Docker Hub, torch's wheels for CPU and for CUDA.
"""

import json
import re
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from manifest import RAY_JOBS

pytestmark = pytest.mark.published

DOCKER = Path(__file__).parents[1]
CRD = (
    "https://raw.githubusercontent.com/ray-project/kuberay/v1.5.1"
    "/ray-operator/config/crd/bases/ray.io_rayjobs.yaml"
)
DOCKERFILE = (DOCKER / "Dockerfile").read_text("utf-8")
PINNED = dict(re.findall(r"^([\w-]+)==(.+)$", (DOCKER / "constraints.txt").read_text(), re.M))


def fetch(url: str, **headers: str) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as page:
        return page.read()


def strict(schema: Any) -> Any:
    """Return a CRD's schema without leave for fields that it does not name."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: strict(each) for name, each in schema.items()}
    if "properties" in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
        closed.setdefault("additionalProperties", False)
    return closed


def test_kuberay_s_crd_accepts_the_ray_jobs() -> None:
    versions = yaml.safe_load(fetch(CRD))["spec"]["versions"]
    schema = next(each["schema"] for each in versions if each["name"] == "v1")
    spec = schema["openAPIV3Schema"]["properties"]["spec"]
    assert len(RAY_JOBS) == 2
    for job in RAY_JOBS:
        found = Draft202012Validator(strict(spec)).iter_errors(job["spec"])
        assert [f"{error.json_path}: {error.message}" for error in found] == []


@pytest.mark.parametrize("base", re.findall(r"^ARG \w+_BASE=(.+)$", DOCKERFILE, re.M))
def test_base_image_is_on_docker_hub(base: str) -> None:
    name, tag = base.split(":")
    repository = name if "/" in name else f"library/{name}"
    service = "https://auth.docker.io/token?service=registry.docker.io"
    token = json.loads(fetch(f"{service}&scope=repository:{repository}:pull"))["token"]
    url = f"https://registry-1.docker.io/v2/{repository}/manifests/{tag}"
    kinds = ("oci.image.index.v1", "docker.distribution.manifest.list.v2")
    accepted = ", ".join(f"application/vnd.{kind}+json" for kind in kinds)
    assert b"amd64" in fetch(url, Authorization=f"Bearer {token}", Accept=accepted)


def test_torch_s_index_has_the_cpu_wheel() -> None:
    index = re.search(r"^ARG TORCH_INDEX_URL=(.+)$", DOCKERFILE, re.M)[1]
    page = fetch(f"{index}/torch/").decode()
    assert f"torch-{PINNED['torch']}%2Bcpu-cp311-cp311-manylinux_2_28_x86_64.whl" in page


def test_torch_on_pypi_brings_the_pinned_nccl_and_cuda() -> None:
    listing = fetch("https://pypi.org/simple/torch/", Accept="application/vnd.pypi.simple.v1+json")
    wheel = f"torch-{PINNED['torch']}-cp311-cp311-manylinux_2_28_x86_64.whl"
    urls = [each["url"] for each in json.loads(listing)["files"] if each["filename"] == wheel]
    asked_for = fetch(f"{urls[0]}.metadata").decode()  # PEP 658
    for name in ("nvidia-nccl-cu13", "nvidia-cudnn-cu13", "triton"):
        assert f"Requires-Dist: {name}=={PINNED[name]};" in asked_for
    cuda = re.search(r"^Requires-Dist: cuda-toolkit\[.+\]==([\d.]+);", asked_for, re.M)[1]
    assert PINNED["cuda-toolkit"].startswith(cuda)
