"""fsdp01's checks accept every right answer and name the mistake of every wrong one."""

import inspect
import os
import re
from pathlib import Path

import answers
import pytest

from grader import explain, fsdp01
from grader.fsdp01 import make_trainer
from grader.mistakes import Mistake
from grader.verdict import CheckFailed, NotSolved
from sandbox.errors import RankTimeoutError

pytestmark = [pytest.mark.fsdp01, pytest.mark.timeout(60)]
EXERCISE = "fsdp01"
CHECKS = answers.check_names(EXERCISE)


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    """Give checks more time than a learner's: other tests may run beside this one."""
    monkeypatch.setattr("grader.check.BUDGET_S", 50.0)


@pytest.mark.parametrize("check", CHECKS)
def test_solution_passes(check, capfd):
    answers.run_check(EXERCISE, check, answers.solution(EXERCISE))
    out, err = capfd.readouterr()
    assert out.startswith(f"✓ passed: {check}\n")
    assert err == ""


@pytest.mark.parametrize("path", answers.overlays("mutants", EXERCISE), ids=lambda path: path.stem)
def test_mutant_is_named(path: Path, capfd):
    namespace = answers.solution(EXERCISE, path)
    with pytest.raises(CheckFailed) as caught:
        answers.run_check(EXERCISE, namespace["CHECK"], namespace)
    out, err = capfd.readouterr()
    assert caught.value.failure.mistake.name == namespace["CODE"], out
    mistake = Mistake[namespace["CODE"]]
    assert f"✗ failed: {namespace['CHECK']} [{mistake.name}]\n  {mistake.meaning}\n" in out
    assert namespace.get("NEXT_STEP", mistake.next_step) in out
    assert err == ""


def _affected() -> list[tuple[Path, str]]:
    """Return each other style with the checks that get its functions; the loop calls most."""
    return [
        (path, check)
        for path in answers.overlays("solutions", EXERCISE)
        for check in CHECKS
        if check == "train_loop"
        or set(answers.arguments(EXERCISE, check)) & set(answers.defined_names(path))
    ]


@pytest.mark.parametrize(
    ("path", "check"), _affected(), ids=lambda value: getattr(value, "stem", value)
)
def test_other_style_passes(path, check, capfd):
    answers.run_check(EXERCISE, check, answers.solution(EXERCISE, path))
    assert f"✓ passed: {check}\n" in capfd.readouterr().out


STUBS = "\n\n".join(
    f"def {name}(*_):\n    raise NotImplementedError()"
    for check in CHECKS
    for name in answers.arguments(EXERCISE, check)
)


@pytest.mark.parametrize("check", CHECKS)
def test_stub_is_not_solved_yet(check, capfd, tmp_path):
    (tmp_path / "stubs.py").write_text(STUBS)
    with pytest.raises(NotSolved):
        answers.run_check(EXERCISE, check, answers.solution(EXERCISE, tmp_path / "stubs.py"))
    assert capfd.readouterr().out == f"○ not solved yet: {check}\n"


def test_a_stub_that_an_answer_calls_is_named(capfd, tmp_path):
    (tmp_path / "stub.py").write_text(
        "def shard_model(model, mesh):\n    raise NotImplementedError()"
    )
    with pytest.raises(NotSolved):
        answers.run_check(EXERCISE, "build", answers.solution(EXERCISE, tmp_path / "stub.py"))
    assert "It calls shard_model, which is not solved yet." in capfd.readouterr().out


def test_an_endless_loop_ends_with_the_budget(capfd, monkeypatch, tmp_path):
    monkeypatch.setattr("grader.check.BUDGET_S", 2.0)
    path = tmp_path / "endless.py"
    path.write_text("def build(config, mesh):\n    while True:\n        pass")
    with pytest.raises(CheckFailed, match="build: TIMED_OUT"):
        answers.run_check(EXERCISE, "build", answers.solution(EXERCISE, path))
    out = capfd.readouterr().out
    assert "endless.py, line" in out
    assert "Hint" not in out


def test_the_config_that_is_judged_is_the_notebooks():
    assert answers.solution(EXERCISE)["CONFIG"] == make_trainer.CONFIG


def test_steps_and_signatures_are_those_of_the_notebook():
    text = (answers.ROOT / "exercises" / "text" / f"{EXERCISE}.py").read_text()
    namespace = answers.solution(EXERCISE)
    for name, parameters in explain.PARAMETERS.items():
        assert tuple(inspect.signature(namespace[name]).parameters) == parameters
    for name, step in explain.STEPS.items():
        before = text[: text.index(f"def {name}(")]
        assert re.findall(r"## Step (\d+)", before)[-1] == str(step)


def test_headings_tell_the_points_of_their_check():
    text = (answers.ROOT / "exercises" / "text" / f"{EXERCISE}.py").read_text()
    told = re.findall(r"## Step \d+ · .* · (\d+) points\n", text)
    *given, bonus = re.findall(r'"points": (\d+)', text)
    assert (told, bonus) == (given, "0")


def test_a_line_of_an_earlier_step_is_told_with_its_step(capfd, tmp_path):
    path = tmp_path / "shard.py"
    path.write_text("def shard_model(model, mesh):\n    return model.no_such_thing")
    with pytest.raises(CheckFailed):
        answers.run_check(EXERCISE, "build", answers.solution(EXERCISE, path))
    assert "shard.py, line 2, in shard_model (step 2)\n" in capfd.readouterr().out


def test_names_of_the_notebook_are_those_its_cells_define():
    before = set(answers.solution(EXERCISE)) - {"__name__", "__builtins__"}
    assert before == explain.NOTEBOOK_NAMES


@pytest.mark.parametrize("site", [None, f"{os.__file__}:3"])
def test_a_timeout_outside_the_answer_does_not_blame_it(site):
    failure = explain.failure_of(RankTimeoutError("rank 0 still ran", rank=0, site=site))
    assert failure.mistake is Mistake.NOT_REACHED
    assert "loop" not in failure.mistake.next_step


def test_the_same_answer_gets_the_same_text(capfd):
    path = next(p for p in answers.overlays("mutants", EXERCISE) if p.stem == "gradients_summed")
    texts = []
    for _ in range(2):
        with pytest.raises(CheckFailed):
            answers.run_check(EXERCISE, "shard_model", answers.solution(EXERCISE, path))
        texts.append(capfd.readouterr().out)
    assert texts[0] == texts[1]


def test_a_check_returns_nothing():
    assert fsdp01.check_rows_of_rank(answers.solution(EXERCISE)["rows_of_rank"]) is None


def test_hints_lead_through_every_step(capsys):
    for step in range(1, len(CHECKS) + 1):
        fsdp01.hint(step)
    assert capsys.readouterr().out.count("hint 1 of") == len(CHECKS)


def test_every_code_that_fsdp01_can_name_has_a_mutant():
    sources = [path.read_text() for path in (answers.ROOT / "grader" / "fsdp01").glob("*.py")]
    sources.append((answers.ROOT / "grader" / "explain.py").read_text())
    claimed = {mistake.name for mistake in Mistake if any(mistake.name in text for text in sources)}
    caught = {
        answers.solution(EXERCISE, path)["CODE"] for path in answers.overlays("mutants", EXERCISE)
    }
    # These would take the whole budget of 20 s.
    assert claimed - caught == {"TIMED_OUT", "NOT_REACHED"}
