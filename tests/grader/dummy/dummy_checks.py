"""Checks for a tiny exercise: their verdicts are the course's own, but they start no ranks."""

from grader import record, verdict
from grader.mistakes import Mistake
from grader.verdict import CheckFailed, Failure, NotSolved


def check_double(double):
    judge("double", lambda: double(2) == 4 and double(21) == 42)


def check_negate(negate):
    judge("negate", lambda: negate(5) == -5)


def check_add(add):
    judge("add", lambda: add(2, 3) == 5)


def judge(name, is_right):
    try:
        right = is_right()
    except NotImplementedError:
        print(verdict.not_solved(name, name))
        raise NotSolved(name, name) from None
    if not right:
        failure = Failure(mistake=Mistake.WRONG_RESULT)
        print(verdict.failed(name, failure))
        raise CheckFailed(name, failure)
    print(verdict.passed(name, "as it should be"))
    record.passed(name)
