"""On GPUs: every check accepts the reference answer as on gloo, and mutants are named.

A check launches worlds of 1 to 4 ranks; those of more ranks than there are GPUs run on gloo, so on
one GPU most of what is judged is. Not run on a GPU so far.
"""

from contextlib import nullcontext

import answers
import pytest

from grader import reference, twin
from grader.course import pages
from grader.verdict import CheckFailed
from sandbox import backend

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(300)]
EXERCISES = [page.name for page in pages() if page.is_exercise]
CHECKS = [(exercise, check) for exercise in EXERCISES for check in reference.check_names(exercise)]
MUTANTS = [
    ("fsdp01", "root_only"),
    ("fsdp01", "loss_halved"),
    ("fsdp01", "rank0_only_save"),
    ("fsdp02", "zero1_summed"),
    ("fsdp02", "zero1_rank0_gathers"),
    ("fsdp03", "pure_bf16"),
    ("fsdp03", "clips_by_local_norm"),
]


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Give checks more time than a learner's: a rank's first context on a GPU takes seconds."""
    monkeypatch.setattr("grader.check.BUDGET_S", 100.0)
    monkeypatch.setattr("grader.record._failed", set())


@pytest.mark.parametrize(("exercise", "check"), CHECKS, ids=map("-".join, CHECKS))
def test_the_reference_answer_passes_with_the_ledger_of_gloo(exercise, check, num_gpus):
    namespace = answers.solution(exercise)
    run = lambda: answers.run_check(exercise, check, namespace)  # noqa: E731
    report = twin.Report()
    on_gpus = twin.observe(run, nullcontext())
    twin.compare(check, twin.observe(run, backend.on_cpu()), on_gpus, report)
    assert report.differences == []
    assert on_gpus.outcome == "passed"
    on_nccl = {launch.world_size for launch in on_gpus.launches if launch.backend == "nccl"}
    assert on_nccl == {n for n in {x.world_size for x in on_gpus.launches} if n <= num_gpus}


@pytest.mark.parametrize(("exercise", "name"), MUTANTS, ids=map("-".join, MUTANTS))
@pytest.mark.usefixtures("num_gpus")
def test_a_mutant_is_named_as_on_gloo(exercise, name):
    paths = {path.stem: path for path in answers.overlays("mutants", exercise)}
    namespace = answers.solution(exercise, paths[name])
    with pytest.raises(CheckFailed) as caught:
        answers.run_check(exercise, namespace["CHECK"], namespace)
    assert caught.value.failure.mistake.name == namespace["CODE"]
