"""What holds for the checks of every exercise; a test module of one imports these tests.

That module names its EXERCISE, in CALLS_MOST the check whose answer calls most of the others, and
in TAKES_LONGEST, where there is one, the check of which other styles are tested as slow alone.
"""

import importlib
import inspect
import re

import answers
import pytest

from grader.mistakes import Mistake
from grader.verdict import CheckFailed, NotSolved

TAKE_THE_WHOLE_BUDGET = {"TIMED_OUT", "NOT_REACHED"}


@pytest.fixture
def exercise(request):
    """Return the name of the exercise that the importing module tests."""
    return request.module.EXERCISE


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Give checks more time than a learner's, for other tests may run; forget what has failed."""
    monkeypatch.setattr("grader.check.BUDGET_S", 50.0)
    monkeypatch.setattr("grader.record._failed", set())


def pytest_generate_tests(metafunc):
    """Run a test with each check, mutant or style of its module's exercise, as it asks for."""
    exercise = getattr(metafunc.module, "EXERCISE", None)
    if "mutant" in metafunc.fixturenames:
        metafunc.parametrize("mutant", list(_mutants(exercise)))
    elif "style" in metafunc.fixturenames:
        longest = getattr(metafunc.module, "TAKES_LONGEST", None)
        pairs = list(_affected(exercise, metafunc.module.CALLS_MOST, longest))
        metafunc.parametrize(("style", "check"), pairs)
    elif "check" in metafunc.fixturenames:
        metafunc.parametrize("check", answers.check_names(exercise))


def _mutants(exercise):
    """Yield each mutant; where an earlier one has shown its code, as slow."""
    seen = set()
    for path in answers.overlays("mutants", exercise):
        [code] = re.findall(r"^CODE = .*$", path.read_text(), re.MULTILINE)
        yield pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (code in seen))
        seen.add(code)


def _affected(exercise, calls_most, longest):
    """Yield each other style with the checks of its functions.

    As slow: others that call them, `longest`, and what an earlier style or check has shown.
    """
    seen = {longest}
    for path in answers.overlays("solutions", exercise):
        defined = set(answers.defined_names(path))
        for check in answers.check_names(exercise):
            if defined & set(answers.arguments(exercise, check)) or check == calls_most:
                is_its_own = bool(defined & set(_own(exercise, check)))
                is_quick = is_its_own and not seen & {path, check}
                if is_quick:
                    seen |= {path, check}
                marks = [] if is_quick else [pytest.mark.slow]
                yield pytest.param(path, check, id=f"{path.stem}-{check}", marks=marks)


def _own(exercise, check):
    """Return the functions that a check gets and that belong to its own step."""
    asked = _facts(exercise).asked
    passed = [name for name in answers.arguments(exercise, check) if name in asked]
    return [name for name in passed if asked[name].step == asked[passed[0]].step]


def _text(exercise):
    return (answers.ROOT / "exercises" / "text" / f"{exercise}.py").read_text()


def _facts(exercise):
    return importlib.import_module(f"grader.{exercise}.exercise").EXERCISE


def test_solution_passes(exercise, check, capfd):
    answers.run_check(exercise, check, answers.solution(exercise))
    out, err = capfd.readouterr()
    assert out.startswith(f"✓ passed: {check}\n")
    assert err == ""


def test_mutant_is_named(exercise, mutant, capfd):
    namespace = answers.solution(exercise, mutant)
    with pytest.raises(CheckFailed) as caught:
        answers.run_check(exercise, namespace["CHECK"], namespace)
    out, err = capfd.readouterr()
    assert caught.value.failure.mistake.name == namespace["CODE"], out
    mistake = Mistake[namespace["CODE"]]
    assert f"✗ failed: {namespace['CHECK']} [{mistake.name}]\n  {mistake.meaning}\n" in out
    assert namespace.get("NEXT_STEP", mistake.next_step) in out
    assert err == ""


def test_other_style_passes(exercise, style, check, capfd):
    answers.run_check(exercise, check, answers.solution(exercise, style))
    assert f"✓ passed: {check}\n" in capfd.readouterr().out


def test_stub_is_not_solved_yet(exercise, check, capfd, tmp_path):
    stubs = [f"def {name}(*_):\n    raise NotImplementedError()" for name in _facts(exercise).asked]
    (tmp_path / "stubs.py").write_text("\n\n".join(stubs))
    with pytest.raises(NotSolved):
        answers.run_check(exercise, check, answers.solution(exercise, tmp_path / "stubs.py"))
    first, *more = capfd.readouterr().out.splitlines()
    assert first == f"○ not solved yet: {check}"
    own = _own(exercise, check)
    left = [f"  {name} is still to be written." for name in own]
    assert more in [[line] for line in left] if len(own) > 1 else more == []


def test_steps_and_signatures_are_those_of_the_notebook(exercise):
    text, namespace = _text(exercise), answers.solution(exercise)
    for name, asked in _facts(exercise).asked.items():
        assert tuple(inspect.signature(namespace[name]).parameters) == asked.parameters
        before = text[: text.index(f"def {name}(")]
        assert (re.findall(r"## (?:Step (\d+)|Bonus)", before)[-1] or "0") == str(asked.step)


def test_names_of_the_notebook_are_those_its_cells_define(exercise):
    before = set(answers.solution(exercise)) - {"__name__", "__builtins__"}
    assert before == _facts(exercise).names


def test_headings_tell_the_points_of_their_check_and_all_are_100(exercise):
    text = _text(exercise)
    told = re.findall(r"## Step \d+ · .* · (\d+) points\n", text)
    given = re.findall(r'"points": (\d+)', text)
    assert told == [points for points in given if points != "0"]
    assert sum(map(int, given)) == 100


def test_hints_lead_through_every_step(exercise, capsys):
    hint = importlib.import_module(f"grader.{exercise}").hint
    checks = answers.check_names(exercise)
    for step in range(1, len(checks) + 1):
        hint(step)
    assert capsys.readouterr().out.count("hint 1 of") == len(checks)


def test_every_code_that_the_checks_can_name_has_a_mutant(exercise):
    folder = answers.ROOT / "grader" / exercise
    texts = [path.read_text() for path in folder.glob("*.py")]
    claimed = {code for text in texts for code in re.findall(r"\bMistake\.([A-Z0-9_]+)", text)}
    paths = answers.overlays("mutants", exercise)
    caught = {answers.solution(exercise, path)["CODE"] for path in paths}
    assert claimed - caught - TAKE_THE_WHOLE_BUDGET == set()
