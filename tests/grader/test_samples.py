"""Sample submissions are made from small modules: only what they define is replaced."""

import json

import pytest

from grader.course import find_page, pages
from grader.notebooks import build_page
from grader.samples import exercises_with_samples, read_answers, read_samples, submission

MODULE = '''"""A sample."""

import math

HELPER = 3


def helper():
    return HELPER


@staticmethod
def first(x):
    return helper()


def second(x):
    return math.pi
'''


def test_what_stands_before_a_function_goes_with_it():
    answers = read_answers(MODULE, {"first", "second"})
    assert answers["second"] == "def second(x):\n    return math.pi"
    assert answers["first"].startswith("import math\n\nHELPER = 3\n\ndef helper")
    assert answers["first"].endswith("@staticmethod\ndef first(x):\n    return helper()")


def test_one_function_of_a_cell_is_replaced_and_no_other():
    source = "def first(x):\n    return 1\n\n\ndef other(x):\n    return 2"
    mark = {"solution": True}
    cell = {"cell_type": "code", "source": source, "metadata": {"nbgrader": mark}}
    plain = {"cell_type": "code", "source": "def second(x):\n    pass", "metadata": {}}
    made = json.loads(submission({"cells": [cell, plain]}, MODULE))
    assert made["cells"][0]["source"].endswith("helper()\n\n\ndef other(x):\n    return 2")
    assert made["cells"][1] == plain


@pytest.mark.parametrize("student", read_samples("fsdp01"))
def test_every_sample_differs_from_the_reference(student):
    notebook = json.loads(build_page(find_page("fsdp01")))
    before = json.dumps([["".join(cell["source"])] for cell in notebook["cells"]])
    made = json.loads(submission(notebook, read_samples("fsdp01")[student]))
    assert json.dumps([["".join(cell["source"])] for cell in made["cells"]]) != before


def test_every_exercise_has_samples_and_every_sample_an_exercise():
    assert exercises_with_samples() == [page.name for page in pages() if page.is_exercise]
