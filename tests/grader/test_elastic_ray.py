"""A real Ray restarts what launch_elastic restarts, and ends with the same weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cloudpickle
import elastic_training
import pytest
from elastic_training import KILLED_STEP, assert_weights_are_those_of_one_process, read_starts

from grader import ray_fit

NUM_CPUS = 3
TIMEOUT_S = 400  # each of two starts imports torch and Ray in every worker


@pytest.mark.slow
@pytest.mark.timeout(2 * TIMEOUT_S)
def test_ray_train_with_elastic_workers_survives_a_killed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make_trainer(_: int, path: str) -> Any:
        from ray.train import FailureConfig, RunConfig, ScalingConfig
        from ray.train.torch import TorchTrainer

        return TorchTrainer(
            lambda: elastic_training.train(tmp_path, kills_itself=True),
            scaling_config=ScalingConfig(num_workers=(2, 4)),
            run_config=RunConfig(storage_path=path, failure_config=FailureConfig(max_failures=1)),
        )

    monkeypatch.setattr(ray_fit, "TIMEOUT_S", TIMEOUT_S)
    cloudpickle.register_pickle_by_value(elastic_training)
    try:
        ray_fit.fit(make_trainer, NUM_CPUS)
    finally:
        cloudpickle.unregister_pickle_by_value(elastic_training)
    # There is room for three of up to four workers, also after one has died.
    assert read_starts(tmp_path) == [(NUM_CPUS, 0), (NUM_CPUS, KILLED_STEP)]
    assert_weights_are_those_of_one_process(tmp_path)
