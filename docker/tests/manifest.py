"""kuberay.yaml: its objects, and the RayJobs among them."""

from pathlib import Path

import yaml

MANIFEST = Path(__file__).parents[1] / "kuberay.yaml"
OBJECTS = list(yaml.safe_load_all(MANIFEST.read_text("utf-8")))
RAY_JOBS = [each for each in OBJECTS if each["kind"] == "RayJob"]
