"""What answers are made of: the function around a line, the line of a call, the names they use."""

import functools
import types

import pytest

from grader.whose_line import function_at, grader_name_in, line_of_call

NOTEBOOK = """
from grader.shards import chunk_rows
def save(directory):
    def inside():
        return directory
    return inside
def loop(config):
    helper = save
    return helper
def cheat(*case):
    return chunk_rows(*case)
def calls_cheat(*case):
    return cheat(*case)
def imports():
    import grader.shards
"""


@pytest.fixture
def answers():
    namespace = {}
    exec(compile(NOTEBOOK, "cell", "exec"), namespace)
    return types.SimpleNamespace(**{k: v for k, v in namespace.items() if k != "__builtins__"})


@pytest.mark.parametrize(("line", "name"), [(3, "save"), (5, "save"), (8, "loop"), (99, "")])
def test_a_line_belongs_to_the_function_around_it(answers, line, name):
    assert function_at(f"cell:{line}", [functools.partial(answers.loop, {})]) == name
    assert function_at(f"other:{line}", [answers.loop]) == ""


def test_a_call_is_found_by_the_name_that_it_mentions(answers):
    assert line_of_call("save", [answers.loop]) == "cell:8"
    assert line_of_call("nothing", [answers.loop]) == ""


def test_the_grader_is_found_in_what_an_answer_calls(answers):
    assert grader_name_in([answers.calls_cheat]) == "chunk_rows"
    assert grader_name_in([answers.imports]) == "grader.shards"
    assert grader_name_in([answers.chunk_rows]) == "chunk_rows"
    assert grader_name_in([answers.loop, print, len]) == ""
