"""Write docker/constraints.txt, the versions in both images: python3.11 tools/constraints.py

pip resolves pyproject.toml as for the gpu image, which has all that the cpu image has, and installs
nothing. No version carries a `+cu130` or `+cpu`, so each image takes its own build of torch.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "docker" / "constraints.txt"
OLDEST_PYTHON = "3.11.0"  # Debian's is 3.11.2, and some packages ask for a later patch release
SOURCE_ONLY = "deepspeed"  # on PyPI; pip picks for another Python than its own from wheels alone
HEADER = """\
# What both images install. Made by `make constraints` from pyproject.toml: edit that instead.
# The cuda-* and nvidia-* packages and triton come with torch's CUDA build, in the gpu image alone.
"""


def main() -> None:
    """Resolve, and write the file; refuse where the answer would not fit the images."""
    if sys.version_info[:2] != (3, 11) or sys.platform != "linux":
        sys.exit(
            "constraints: the images run Python 3.11 on Linux, and what pip picks depends on both; "
            f"this is Python {sys.version_info[0]}.{sys.version_info[1]} on {sys.platform}."
        )
    with tempfile.TemporaryDirectory() as directory:
        versions = resolve(directory)
    if "nvidia-nccl-cu13" not in versions:
        sys.exit(
            f"constraints: pip chose torch {versions['torch']}, which brings no NCCL; PyPI's build "
            "does. Hint: PIP_FIND_LINKS= PIP_CONFIG_FILE=/dev/null make constraints"
        )
    lines = [f"{name}=={version}\n" for name, version in sorted(versions.items())]
    CONSTRAINTS.write_text(HEADER + "".join(lines), "utf-8")
    print(f"{len(lines)} versions in {CONSTRAINTS.relative_to(ROOT)}")


def resolve(directory: str) -> dict[str, str]:
    """Return the version of every package, by name, that an empty environment would get."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    asked_for = next(line for line in project["dependencies"] if line.startswith(SOURCE_ONLY))
    pip("wheel", "--quiet", "--no-deps", "--wheel-dir", directory, asked_for)
    where = ["--target", directory, "--python-version", OLDEST_PYTHON, "--only-binary", ":all:"]
    what = ["--find-links", directory, "--report", "-", ".[cluster,fp8,test]", "pip"]
    report = pip("install", "--dry-run", "--quiet", *where, *what)
    found = [package["metadata"] for package in json.loads(report)["install"]]
    return {
        package["name"].lower().replace("_", "-"): package["version"].partition("+")[0]
        for package in found
        if package["name"] != "shardlab"
    }


def pip(*arguments: str) -> str:
    """Run pip and return its output; its own last words are the error."""
    command = [sys.executable, "-m", "pip", *arguments]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"constraints: this failed: pip {' '.join(arguments)}")
    return done.stdout


if __name__ == "__main__":
    main()
