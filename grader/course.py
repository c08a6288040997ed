"""Where the course's texts and notebooks lie."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Page:
    """One notebook of the course: `text` is what people edit, `notebook` is built from it."""

    name: str
    text: Path
    notebook: Path
    is_exercise: bool

    @property
    def is_outdated(self) -> bool:
        """Whether the text was written after the notebook, so that building may change it."""
        text, notebook = self.text, self.notebook
        return not notebook.exists() or notebook.stat().st_mtime_ns < text.stat().st_mtime_ns


def pages(root: Path = ROOT) -> Iterator[Page]:
    """Yield the lessons, then the exercises, each group in the order of its names."""
    for text in sorted((root / "course").glob("*.py")):
        yield Page(text.stem, text, text.with_suffix(".ipynb"), is_exercise=False)
    exercises = root / "exercises"
    for text in sorted((exercises / "text").glob("*.py")):
        notebook = exercises / "source" / text.stem / f"{text.stem}.ipynb"
        yield Page(text.stem, text, notebook, is_exercise=True)


def find_page(name: str, root: Path = ROOT) -> Page:
    """Return the page called `name`; raises ValueError with the names there are."""
    known = {page.name: page for page in pages(root)}
    if name not in known:
        raise ValueError(f"there is no notebook {name!r}; there are: {', '.join(known) or 'none'}")
    return known[name]
