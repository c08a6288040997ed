"""The real Ray: it does what the warm ranks do, and ends with whoever started it."""

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import answers
import psutil
import pytest
import torch
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

import sandbox
from grader import ray_fit, storage
from grader.verdict import NotSolved

pytestmark = [pytest.mark.fsdp01, pytest.mark.timeout(240)]
NUM_WORKERS = 2


def whole(checkpoint: Path, path: Path) -> dict:
    """Return a sharded checkpoint as whole tensors."""
    dcp_to_torch_save(checkpoint, path)
    return torch.load(path, weights_only=False)


def flat(state: dict, prefix: str = "") -> dict:
    """Return {"a.b": leaf} of nested dicts."""
    leaves = {}
    for key, value in state.items():
        name = f"{prefix}{key}"
        leaves.update(flat(value, f"{name}.") if isinstance(value, dict) else {name: value})
    return leaves


def run_on_warm_ranks(make_trainer, path):
    from grader.ray_local import fit_on_ranks

    trainer = make_trainer(NUM_WORKERS, path)
    fit_on_ranks(trainer.train_loop_per_worker, trainer.train_loop_config, path)


@pytest.mark.slow
def test_real_ray_and_warm_ranks_end_in_the_same_checkpoint(tmp_path):
    make_trainer = answers.solution("fsdp01")["make_trainer"]
    real = ray_fit.fit(make_trainer, NUM_WORKERS, keep_checkpoint=tmp_path / "real")
    warm_path = tmp_path / "warm"
    warm_path.mkdir()
    sandbox.launch(
        run_on_warm_ranks,
        make_trainer,
        str(warm_path),
        world_size=NUM_WORKERS,
        init_process_group=False,
    )
    report = storage.read_reports(warm_path, NUM_WORKERS)[0][-1]
    assert real.metrics == report
    newest = storage.checkpoints(warm_path)[-1]
    assert real.checkpoint_files == sorted(path.name for path in newest.iterdir())
    states = [whole(tmp_path / "real", tmp_path / "a.pt"), whole(newest, tmp_path / "b.pt")]
    expected, came = map(flat, states)
    assert expected.keys() == came.keys()
    assert any("exp_avg" in name for name in expected)
    for name, value in expected.items():
        is_tensor = isinstance(value, torch.Tensor)
        # Exactly: with two ranks, a sum of two has one order.
        assert torch.equal(value, came[name]) if is_tensor else value == came[name], name


@pytest.mark.slow
@pytest.mark.fsdp04
@pytest.mark.timeout(500)
def test_a_worker_that_is_killed_costs_the_steps_since_the_last_checkpoint(tmp_path):
    make_trainer = answers.solution("fsdp04")["make_trainer"]
    real = ray_fit.fit(make_trainer, (1, NUM_WORKERS), tmp_path / "real", kill_at=8)
    first, second = [worker for worker in real.workers if worker.rank == 0]
    assert [worker.rank for worker in real.workers if worker.was_killed] == [first.world_size - 1]
    assert first.num_steps in (7, 8)  # in the last, it may have lacked the one that was killed
    # Saved after steps 3 and 6; the second may not have been taken in yet (every 2 s it is looked).
    assert second.num_steps in (16 - 6, 16 - 3)
    assert real.metrics == {"step": 16}
    warm_path = tmp_path / "warm"
    warm_path.mkdir()
    sandbox.launch(
        run_on_warm_ranks,
        lambda number, path: make_trainer((number, number), path),
        str(warm_path),
        world_size=NUM_WORKERS,
        init_process_group=False,
    )
    newest = storage.checkpoints(warm_path)[-1]
    states = [whole(tmp_path / "real", tmp_path / "a.pt"), whole(newest, tmp_path / "b.pt")]
    expected, came = map(flat, states)
    for name, value in expected.items():
        # float32; the second attempt may have had one worker, which adds up in another order
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            torch.testing.assert_close(came[name], value, rtol=1e-4, atol=1e-5, msg=name)


@pytest.fixture
def short_tmp():
    """Return a directory for temporary files whose path leaves room for Ray's socket names."""
    with tempfile.TemporaryDirectory(prefix="sl") as path:
        yield path


@pytest.mark.slow
def test_ray_ends_when_its_kernel_is_killed(short_tmp):
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import answers; from grader import ray_fit; "
        "ray_fit.fit(answers.solution('fsdp01')['make_trainer'], 2)"
    )
    kernel = subprocess.Popen(
        [sys.executable, "-c", script, str(Path(__file__).parent)],
        env={**os.environ, "TMPDIR": short_tmp},
    )
    started: dict[int, str] = {}
    try:
        while "raylet" not in started.values():
            assert kernel.poll() is None
            for process in psutil.Process(kernel.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    started[process.pid] = process.name()
    finally:
        kernel.kill()
        kernel.wait()
    left = [process for process in psutil.process_iter() if process.pid in started]
    assert psutil.wait_procs(left, timeout=20)[1] == []
    assert list(Path(short_tmp).iterdir()) == []


def test_a_trainer_that_cannot_be_made_shows_why():
    def make_trainer(num_workers, storage_path):
        raise ValueError(f"no trainer for {num_workers} workers")

    with pytest.raises(ray_fit.RayFitError, match="ValueError: no trainer for 2 workers"):
        ray_fit.fit(make_trainer, NUM_WORKERS)


@pytest.mark.slow
def test_a_stub_is_not_solved_yet():
    def make_trainer(num_workers, storage_path):
        raise NotImplementedError()

    with pytest.raises(NotSolved):
        ray_fit.fit(make_trainer, NUM_WORKERS)


@pytest.mark.slow
def test_a_trainer_that_is_run_where_it_is_made_is_refused():
    def make_trainer(num_workers, storage_path):
        from ray.train.torch import TorchTrainer

        return TorchTrainer(print).fit()

    with pytest.raises(ray_fit.RayFitError, match="it is to return the trainer"):
        ray_fit.fit(make_trainer, NUM_WORKERS)


def test_stop_is_told_in_one_line(monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(ray_fit, "fit", stopped)
    with pytest.raises(KeyboardInterrupt) as caught:
        ray_fit.fit_and_tell(None)
    assert len(caught.value._render_traceback_()) == 1


def test_nothing_runs_while_grading(monkeypatch, capsys):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    ray_fit.fit_and_tell(None)
    assert "Not run while grading" in capsys.readouterr().out
