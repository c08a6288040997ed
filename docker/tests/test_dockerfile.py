"""The Dockerfile is one that hadolint passes, and keeps what the images promise."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCKER = Path(__file__).parents[1]
ROOT = DOCKER.parent
TEXT = (DOCKER / "Dockerfile").read_text("utf-8")
HADOLINT = Path(sys.executable).with_name("hadolint")
IMAGES = ("cpu", "gpu")
DIFFERENT = {"NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"}  # in the gpu image alone


def instructions(text: str = TEXT) -> list[tuple[str, str]]:
    """Return (instruction, rest) of each, with comments dropped and continued lines joined."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    split = [line.split(None, 1) for line in joined.splitlines() if line.strip()]
    return [(name, " ".join(rest.split())) for name, rest in split]


def stage(name: str) -> dict[str, list[str]]:
    """Return what stands in a stage: the rests of its instructions, by their names."""
    found: dict[str, list[str]] = {}
    current = ""
    for instruction, rest in instructions():
        if instruction == "FROM":
            current = rest.partition(" AS ")[2]
        if current == name:
            found.setdefault(instruction, []).append(rest)
    return found


def variables(image: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for line in stage(image)["ENV"] for pair in line.split())


def test_hadolint_has_nothing_to_say() -> None:
    done = subprocess.run(
        [HADOLINT, "--no-color", DOCKER / "Dockerfile"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_bases_are_arguments_with_a_pinned_default() -> None:
    arguments = dict(rest.split("=", 1) for name, rest in instructions() if name == "ARG")
    defaults = {name: base for name, base in arguments.items() if name.endswith("_BASE")}
    assert defaults.keys() == {"CPU_BASE", "GPU_BASE"}
    for base in defaults.values():
        assert re.fullmatch(r"[a-z/]+:\d+\.\d+[\w.-]*", base), f"{base} pins no version"
    stages = {rest.partition(" AS ")[2] for name, rest in instructions() if name == "FROM"}
    for name, rest in instructions():
        if name == "FROM":
            base = rest.partition(" AS ")[0]
            assert base in stages or base in ("${CPU_BASE}", "${GPU_BASE}")


def test_cpu_is_the_default_target() -> None:
    *_, last = (rest for name, rest in instructions() if name == "FROM")
    assert last == "${CPU_BASE} AS cpu"


@pytest.mark.parametrize("image", IMAGES)
def test_image_ends_as_a_user_with_an_init_and_a_health_check(image: str) -> None:
    found = stage(image)
    assert found["USER"] == ["1000"]  # a number: Kubernetes' runAsNonRoot can read no name
    assert found["VOLUME"] == ["/work"]
    assert json.loads(found["ENTRYPOINT"][0]) == ["tini", "--"]
    assert json.loads(found["CMD"][0])[:4] == ["python", "-m", "grader", "lab"]
    check = json.loads(found["HEALTHCHECK"][0].partition(" CMD ")[2])
    assert (ROOT / check[1]).is_file()
    assert not any("--chown" in copied for copied in found["COPY"]), "the code is root's"
    assert any("rm -rf /var/lib/apt/lists/*" in run for run in found["RUN"])


def test_both_images_are_configured_alike() -> None:
    cpu, gpu = stage("cpu"), stage("gpu")
    for name in ("USER", "VOLUME", "WORKDIR", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"):
        assert cpu[name] == gpu[name]
    assert variables("gpu").items() - variables("cpu").items() == {
        item for item in variables("gpu").items() if item[0] in DIFFERENT
    }
    assert variables("cpu").keys() <= variables("gpu").keys()


def test_every_install_of_packages_is_pinned() -> None:
    (environment,) = stage("libraries")["ENV"]
    assert "PIP_CONSTRAINT=/build/constraints.txt" in environment
    runs = [rest for name, rest in instructions() if name == "RUN"]
    installs = [part for run in runs for part in run.split(" && ") if "pip install" in part]
    of_the_project = [part for part in installs if '".[' in part]
    assert (len(installs), len(of_the_project)) == (4, 2)
    assert all("--build-constraint constraints.txt" in part for part in of_the_project)


def test_no_layer_holds_a_secret() -> None:
    names = [rest.partition("=")[0] for name, rest in instructions() if name == "ARG"]
    names += [name for image in IMAGES for name in variables(image)]
    assert [n for n in names if re.search("TOKEN|PASSWORD|SECRET|KEY|CREDENTIAL", n)] == []


def test_context_is_what_the_stages_copy() -> None:
    """A new file at the top of the repository, a key say, cannot slip into an image."""
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert lines[1] == "*"
    allowed = {line[1:] for line in lines if line.startswith("!")}
    copied: set[str] = set()
    for name in ("libraries", "code", "code-and-tests"):
        for line in stage(name)["COPY"]:
            copied |= {source.partition("/")[0] for source in line.split()[:-1]}
    assert copied == allowed
    assert all((ROOT / path).exists() for path in allowed)
