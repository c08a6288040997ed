"""What a learner reads: the verdict's lines, one line for an exception, hints in tiers."""

import re
import traceback
from dataclasses import replace

import answers
import pytest

from grader import explain, verdict
from grader.check import Check
from grader.hints import Hints
from grader.mistakes import Mistake
from grader.verdict import CheckFailed, Failure, NotSolved
from sandbox.errors import DeadlockError, RankDiedError, RankError, SandboxError
from sandbox.event import Event, Op
from sandbox.ledger import Ledger
from sandbox.run import Run

RUN = Run(world_size=2, results=[None, None], ledger=Ledger(), output=["", ""], duration_s=0.1)


def rank_error(exc_type, exc_message, traceback_text="", rank=1, site=None):
    return RankError(
        "all of it",
        rank=rank,
        site=site,
        run=RUN,
        exc_type=exc_type,
        exc_message=exc_message,
        traceback_text=traceback_text,
    )


def test_failure_says_expected_came_where_and_next(capsys):
    failure = Failure(
        mistake=Mistake.LOCAL_LOSS, expected="4.1 on every rank", came="3.9", where="rank 2 of 4"
    )
    with pytest.raises(CheckFailed, match="^step: LOCAL_LOSS$"), Check("step", "proof") as check:
        check.judge(failure)
    assert capsys.readouterr().out.splitlines() == [
        "✗ failed: step [LOCAL_LOSS]",
        f"  {Mistake.LOCAL_LOSS.meaning}",
        "  expected 4.1 on every rank",
        "  came     3.9",
        "  where    rank 2 of 4",
        f"  next     {Mistake.LOCAL_LOSS.next_step}",
    ]


def test_pass_says_what_is_proven(capsys):
    with Check("step", "equal to one process", print) as check:
        check.judge(None)
    assert capsys.readouterr().out == "✓ passed: step\n  equal to one process\n"


def test_an_error_of_the_grader_is_no_verdict(capsys):
    with pytest.raises(ZeroDivisionError), Check("step", "proof"):
        _ = 1 / 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "error", [CheckFailed("step", Failure(mistake=Mistake.RAISED)), NotSolved("step")]
)
def test_notebook_shows_an_exception_in_one_line(error):
    [line] = error._render_traceback_()
    assert line == f"{type(error).__name__}: {error}"


def test_stub_is_told_from_what_torch_does_not_implement():
    stub = rank_error("NotImplementedError", "", "  answers, line 3, in loop\n  x, line 9, in step")
    assert explain.stub_of(stub) == "step"
    assert explain.stub_of(rank_error("NotImplementedError", "no kernel for aten::x")) is None
    assert explain.stub_of(rank_error("ValueError", "")) is None


def test_known_texts_of_torch_name_the_mistake():
    for text, mistake in explain.KNOWN_TEXTS.items():
        failure = explain.failure_of(rank_error("RuntimeError", f"aten.mm {text}, need to …"))
        assert failure.mistake is mistake
        assert failure.where == "rank 1"


def test_the_learners_line_stands_below_where_it_is(tmp_path):
    path = tmp_path / "answer.py"
    path.write_text(f"\n    loss = wrong\n    {'long ' * 30}\n")
    assert explain.where_of(rank_error("NameError", "", site=f"{path}:2")) == (
        f"rank 1, {path}, line 2\nloss = wrong"
    )
    line = explain.where_of(rank_error("NameError", "", site=f"{path}:3")).splitlines()[1]
    assert line == f"{('long ' * 30)[: explain.MAX_LINE_CHARS]}…"


@pytest.mark.parametrize("filename", ["/no/such/file.py", traceback.__file__])
def test_a_line_that_is_not_found_or_of_a_library_is_not_shown(filename):
    where = explain.where_of(rank_error("ValueError", "", site=f"{filename}:3"))
    assert where.startswith("rank 1, ")
    assert "\n" not in where


def test_every_sandbox_error_has_a_mistake():
    def leaves(kind):
        subclasses = kind.__subclasses__()
        return [leaf for sub in subclasses for leaf in leaves(sub)] if subclasses else [kind]

    assert set(leaves(SandboxError)) == set(explain.MISTAKE_OF)


def test_every_code_that_a_failed_launch_becomes_has_a_mutant():
    text = (answers.ROOT / "grader" / "explain.py").read_text()
    named = set(re.findall(r"\bMistake\.([A-Z0-9_]+)", text))
    mutants = (answers.ROOT / "tests" / "grader" / "mutants").rglob("*.py")
    caught = {c for path in mutants for c in re.findall(r'^CODE = "(\w+)"', path.read_text(), re.M)}
    assert named - caught == {"TIMED_OUT", "NOT_REACHED"}  # these take a check's whole budget


def test_a_long_message_is_cut():
    failure = explain.failure_of(DeadlockError("\n".join(map(str, range(99))), run=RUN))
    assert len(failure.came.splitlines()) == explain.MAX_LINES + 1


def test_every_mistake_says_what_it_is_and_what_to_do():
    for mistake in Mistake:
        assert mistake.meaning.endswith(".")
        assert not mistake.next_step.endswith(".")
    assert len({mistake.meaning for mistake in Mistake}) == len(Mistake)


def test_hints_come_one_tier_per_request(capsys):
    hints = Hints({1: ("nudge", "nearly all")})
    for _ in range(3):
        hints.show(1)
    assert capsys.readouterr().out.splitlines() == [
        "Step 1, hint 1 of 2: nudge",
        "Ask again for more.",
        "Step 1, hint 2 of 2: nearly all",
        "Step 1: these were all 2 hints.",
        "hint 1 of 2: nudge",
        "hint 2 of 2: nearly all",
    ]


@pytest.mark.parametrize(("asked", "said"), [((), "Hints are"), ((9,), "Step 9 has no hints.")])
def test_a_step_without_hints_lists_those_with(asked, said, capsys):
    Hints({2: ("a",), 1: ("b",)}).show(*asked)
    out = capsys.readouterr().out
    assert out.startswith(said)
    assert "for steps 1, 2:" in out


@pytest.mark.parametrize(("name", "word"), [("SIGSEGV", "below Python"), ("SIGKILL", "memory")])
def test_a_rank_that_a_signal_ended_is_not_told_of_exit_functions(name, word):
    failure = explain.failure_of(RankDiedError(f"rank 1 was ended by {name}", rank=1, run=RUN))
    assert word in failure.next_step


def test_a_hang_is_told_at_the_learners_line_before_one_of_the_check():
    def event(rank, site):
        facts = {"seq": 1, "op": Op.BARRIER, "group": (0, 1), "numel": 0, "dtype": "", "nbytes": 0}
        return Event(rank=rank, call_site=site, **facts)

    own = f"{explain.__file__}:3"
    ledger = Ledger([event(0, own), event(1, "/answer.py:7")])
    error = DeadlockError(f"rank 0 waits at {explain.__file__}, line 3", site=own)
    error.run = replace(RUN, ledger=ledger)
    failure = explain.failure_of(error)
    assert failure.where == "/answer.py, line 7"
    assert failure.came == "rank 0 waits in the check"


def test_not_solved_names_the_function_that_an_answer_calls():
    assert verdict.not_solved("loop", "step").endswith("It calls step, which is not solved yet.")
    assert verdict.not_solved("loop") == "○ not solved yet: loop"
