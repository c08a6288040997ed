"""Fill the learner's folder: lessons and released exercises, never overwriting what was edited.

Run with: python -m grader learn, and python -m grader reset NAME
"""

import hashlib
import json
import os
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path

from grader.course import ROOT, Page, find_page, pages

LEARN = Path(os.environ.get("SHARDLAB_LEARN", ROOT / "learn"))  # elsewhere in our images
STATE = ".handed_out.json"  # name -> what that notebook's copy was made from and said


def fill(root: Path = ROOT, learn: Path = LEARN) -> Iterator[str]:
    """Bring `learn` up to date; yield one line for each notebook that changed or was kept."""
    learn.mkdir(exist_ok=True)
    handed_out = _read_state(learn)
    for page in pages(root):
        if page.notebook.exists():
            yield from _hand_out(page, learn, handed_out)
    _replace(learn / STATE, json.dumps(handed_out, indent=1, sort_keys=True) + "\n")


def reset(name: str, root: Path = ROOT, learn: Path = LEARN) -> Iterator[str]:
    """Keep the learner's copy of `name` under a dated name and hand out a fresh one."""
    page = find_page(name, root)
    learn.mkdir(exist_ok=True)
    copy = _copy_of(page, learn)
    handed_out = _read_state(learn)
    if copy.exists() and _content(copy.read_bytes()) == handed_out.get(name, {}).get("content"):
        yield f"{copy.name}: its cells are as they were handed out; nothing to reset"
        return
    if copy.exists():
        kept = _free_name(copy, f"{datetime.now():%Y-%m-%d-%H%M%S}")
        copy.rename(kept)
        yield f"{copy.name}: your copy is kept as {kept.name}"
        yield "If it is open in JupyterLab: File, Reload Notebook from Disk; do not save it first."
    handed_out.pop(name, None)
    yield from _hand_out(page, learn, handed_out)
    _replace(learn / STATE, json.dumps(handed_out, indent=1, sort_keys=True) + "\n")


def _hand_out(page: Page, learn: Path, handed_out: dict[str, dict[str, str]]) -> Iterator[str]:
    """Copy `page` into `learn` unless the learner has it already or has edited it."""
    copy = _copy_of(page, learn)
    source = hashlib.sha256(page.notebook.read_bytes()).hexdigest()
    before = handed_out.get(page.name, {})
    if copy.exists() and before.get("source") == source:
        return
    text = _learners_text(page)
    theirs = _content(copy.read_bytes()) if copy.exists() else None
    if theirs in (None, before.get("content")):
        _replace(copy, text)
        yield f"{copy.name}: {'new' if theirs is None else 'refreshed'}"
    elif theirs != _content(text.encode()):
        beside = _free_name(copy, f"new-{date.today()}")
        _replace(beside, text)
        yield f"{copy.name}: yours is kept as you edited it; the new version is {beside.name}"
    handed_out[page.name] = {"source": source, "content": _content(text.encode())}


def _learners_text(page: Page) -> str:
    """Return the notebook as handed out: a lesson as it is, an exercise without its solutions."""
    if not page.is_exercise:
        return page.notebook.read_text("utf-8")
    # Imported here: it loads nbgrader whole (2 s), and most runs find nothing to release.
    from grader.release import release

    return release(page.notebook, page.notebook.parents[2] / "nbgrader_config.py")


def _content(notebook: bytes) -> str:
    """Return a digest of the cells' text; outputs do not count, as running is no edit."""
    try:
        cells = json.loads(notebook)["cells"]
        written = [(cell["cell_type"], "".join(cell["source"])) for cell in cells]
    except (ValueError, KeyError, TypeError):
        written = [("not a notebook", notebook.hex())]
    return hashlib.sha256(json.dumps(written).encode()).hexdigest()


def _copy_of(page: Page, learn: Path) -> Path:
    return learn / f"{page.name}.ipynb"


def _free_name(copy: Path, mark: str) -> Path:
    kept = copy.with_name(f"{copy.stem}.{mark}.ipynb")
    return kept if not kept.exists() else _free_name(copy, f"{mark}-again")


def _replace(path: Path, text: str) -> None:
    """Write `path` so that a crash leaves the old file or the new one, never half of one."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def _read_state(learn: Path) -> dict[str, dict[str, str]]:
    try:
        read: dict[str, dict[str, str]] = json.loads((learn / STATE).read_text("utf-8"))
    except (FileNotFoundError, ValueError):  # damaged: all copies count as edited, and are kept
        return {}
    return read
