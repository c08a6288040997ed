"""Where a line of code comes from: the learner's notebook cell or file, or a library below it."""

from __future__ import annotations

import dataclasses
import functools
import linecache
import os
import sys
import sysconfig
from types import FrameType
from typing import Any


@functools.cache
def is_learners(filename: str) -> bool:
    """Whether `filename` is the learner's own code: no library, none of ours, nothing frozen."""
    if filename.startswith("<"):  # a cell of an older IPython is "<ipython-input-…>"
        return filename.startswith("<ipython") or filename.startswith("<stdin")
    return not filename.startswith(_library_folders())


@functools.cache
def _library_folders() -> tuple[str, ...]:
    here = os.path.dirname(os.path.abspath(__file__))
    paths = sysconfig.get_paths()
    folders = [here, os.path.join(os.path.dirname(here), "grader")]
    folders += [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return tuple(os.path.join(folder, "") for folder in folders)


def describe(site: str) -> str:
    """Turn "file:line" into what a person would say: "cell In[3], line 5" or "train.py, line 5"."""
    filename, _, line = site.rpartition(":")
    return f"{_name(filename)}, line {line}"


def _name(filename: str) -> str:
    cell = _cell_number(filename)
    if cell is not None:
        return f"cell In[{cell}]"
    _, is_installed, package_path = filename.partition("site-packages" + os.sep)
    if is_installed:
        return package_path
    path = os.path.relpath(filename) if os.path.isabs(filename) else filename
    return filename if path.startswith("..") else path


def _cell_number(filename: str) -> int | None:
    """Return the execution count of the notebook cell that IPython compiled as `filename`."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    names = getattr(shell.compile, "_filename_map", {}) if shell else {}
    return names.get(filename)


def running_cell(otherwise: int) -> int:
    """Return the number of the cell that called us: IPython counts on before a cell ends."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        number = _cell_number(frame.f_code.co_filename)
        if number is not None:
            return number
        frame = frame.f_back
    return otherwise


def render_frame(filename: str, line: int, function: str) -> str:
    """Return one frame of a traceback, in Python's own layout, with its source line."""
    text = linecache.getline(filename, line).strip()
    head = f"  {_name(filename)}, line {line}, in {function}"
    return f"{head}\n    {text}" if text else head


def represent(item: Any, field: str) -> str:
    """Return the repr of a dataclass, its call site `field` as `line`, in people's words."""
    values = {each.name: getattr(item, each.name) for each in dataclasses.fields(item)}
    site = values.pop(field)
    values["line"] = site and describe(site)
    listed = ", ".join(f"{name}={value!r}" for name, value in values.items())
    return f"{type(item).__name__}({listed})"
