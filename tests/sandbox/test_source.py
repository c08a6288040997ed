"""Places in code are named as a learner knows them, and libraries are told from answers."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import torch
from drawing import make_event
from IPython.core.interactiveshell import InteractiveShell

import grader
import sandbox
from sandbox import source
from sandbox.memory.category import Category, Phase
from sandbox.memory.sample import Sample


@pytest.mark.parametrize("module", [json, torch, sandbox, grader])
def test_libraries_and_our_own_code_are_not_the_learners(module) -> None:
    assert not source.is_learners(module.__file__)


@pytest.mark.parametrize("name", ["<string>", "<frozen runpy>", "<@beartype(x)>"])
def test_generated_code_is_not_the_learners(name: str) -> None:
    assert not source.is_learners(name)


@pytest.mark.parametrize("name", [__file__, "/tmp/ipykernel_7/123.py", "<ipython-input-1-abc>"])
def test_files_and_cells_are_the_learners(name: str) -> None:
    assert source.is_learners(name)


def test_a_file_is_named_from_here_and_a_library_by_its_package() -> None:
    here = os.path.join(os.getcwd(), "train.py")
    assert source.describe(f"{here}:7") == "train.py, line 7"
    library = Path(torch.__file__)
    assert source.describe(f"{library}:7") == "torch/__init__.py, line 7"


def test_a_cell_is_named_by_its_number() -> None:
    shell = InteractiveShell.instance()
    name = shell.compile.cache("x = 1\ny = 2", 3)
    assert source.describe(f"{name}:2") == "cell In[3], line 2"
    assert source.render_frame(name, 2, "<module>").endswith("    y = 2")
    InteractiveShell.clear_instance()


def test_an_event_and_a_sample_show_their_line_as_people_read_it() -> None:
    site = f"{os.path.join(os.getcwd(), 'train.py')}:7"
    held = dict.fromkeys(Category, 0)
    sample = Sample(0, 0.1, 0, Phase("init"), True, held, site)
    for item in (make_event(0, 0.0, 0.4, call_site=site), sample):
        assert "line='train.py, line 7'" in repr(item)
        assert site not in repr(item)
    assert "line=None" in repr(make_event(0, 0.0, 0.4))
    assert "rank=0" in repr(sample)
