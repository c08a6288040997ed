"""kuberay.yaml holds objects that Kubernetes and KubeRay accept, and that fit the images."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from kuberay_schema import RAY_JOB_SPEC
from kubernetes_fields import problems
from manifest import OBJECTS, RAY_JOBS

DOCKER = Path(__file__).parents[1]
OTHERS = {"PersistentVolumeClaim": "V1PersistentVolumeClaim", "NetworkPolicy": "V1NetworkPolicy"}


def problems_of_job(spec: dict[str, Any]) -> list[str]:
    """Return what is wrong with the spec of a RayJob, its pods included."""
    found = [
        f"{error.json_path}: {error.message}"
        for error in Draft202012Validator(RAY_JOB_SPEC).iter_errors(spec)
    ]
    for group in groups(spec):
        found += problems(group["template"], "V1PodTemplateSpec")
    return found


def groups(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the head's group and the workers'."""
    cluster = spec["rayClusterSpec"]
    return [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]


@pytest.mark.parametrize("job", RAY_JOBS, ids=lambda job: job["metadata"]["name"])
def test_ray_jobs_have_the_fields_of_kuberay_and_no_others(job: dict) -> None:
    assert job["apiVersion"] == "ray.io/v1"
    assert problems_of_job(job["spec"]) == []
    assert problems(job["metadata"], "V1ObjectMeta") == []


def test_the_other_objects_are_kubernetes() -> None:
    others = [each for each in OBJECTS if each not in RAY_JOBS]
    assert {each["kind"] for each in others} == OTHERS.keys()
    for each in others:
        assert problems(each, OTHERS[each["kind"]]) == []


def test_a_misspelt_field_and_a_wrong_type_are_found() -> None:
    spec = yaml.safe_load(yaml.safe_dump(RAY_JOBS[0]["spec"]))
    assert problems_of_job(spec) == []
    head, workers = groups(spec)
    head["rayStartParams"]["num-cpus"] = 0  # Ray's parameters are texts
    del workers["groupName"]
    spec["entryPoint"] = spec.pop("entrypoint")
    container = head["template"]["spec"]["containers"][0]
    container["volumeMount"] = container.pop("volumeMounts")
    container["name"] = None
    workers["template"]["spec"]["automountServiceAccountToken"] = "no"
    found = "\n".join(problems_of_job(spec))
    for part in ("0 is not of type", "'groupName' is a required", "'entryPoint' was unexpected"):
        assert part in found
    for part in ("no field volumeMount", "containers.0.name: ", "automountServiceAccountToken: "):
        assert part in found


def test_the_jobs_run_ray_s_pinned_version_and_files_of_the_image() -> None:
    pinned = (DOCKER / "constraints.txt").read_text("utf-8")
    for job in RAY_JOBS:
        cluster = job["spec"]["rayClusterSpec"]
        assert f"\nray=={cluster['rayVersion']}\n" in pinned
        script = job["spec"]["entrypoint"].split()[1]
        assert (DOCKER / Path(script).relative_to("/opt/shardlab/docker")).is_file()
        for group in groups(job["spec"]):
            pod = group["template"]["spec"]
            assert pod["securityContext"]["runAsUser"] == 1000
            assert [each["image"] for each in pod["containers"]] in (
                ["shardlab:gpu"],
                ["shardlab:cpu"],
            )


def test_training_asks_for_as_many_ranks_as_gpus() -> None:
    spec = next(each["spec"] for each in RAY_JOBS if "train.py" in each["spec"]["entrypoint"])
    num_gpus = 0
    for group in spec["rayClusterSpec"]["workerGroupSpecs"]:
        limits = group["template"]["spec"]["containers"][0]["resources"]["limits"]
        num_gpus += group["replicas"] * int(limits["nvidia.com/gpu"])
    assert f"--num-workers {num_gpus} --use-gpu" in spec["entrypoint"]


def test_only_the_head_that_grades_sees_the_grades() -> None:
    spec = next(each["spec"] for each in RAY_JOBS if "grade" in each["spec"]["entrypoint"])
    seen = ["shardlab-work" in str(group["template"]) for group in groups(spec)]
    assert seen == [True, False]
