"""What students get back: a page that names each check, without hidden tests."""

from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import ClearHiddenTests
from nbgrader.server_extensions import formgrader
from traitlets import List

from grader.course import ROOT
from grader.nbgrader_plugin.scoring import is_autograded


def template_folders() -> list[str]:
    """Return where templates of feedback are looked for: ours, which extends nbgrader's."""
    of_nbgrader = Path(formgrader.__file__).parent / "templates"
    return [str(ROOT / "exercises" / "templates"), str(of_nbgrader)]


class HideTests(ClearHiddenTests):
    """Removes the hidden regions of graded cells; what a student wrote is never taken for one."""

    # The HTML exporter sets it for all preprocessors; nbgrader warns where it is no option.
    display_data_priority: Any = List().tag(config=True)

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict[str, Any], cell_index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Return the cell without its hidden regions."""
        if is_autograded(cell):
            self._remove_hidden_test_region(cell)
        return cell, resources
