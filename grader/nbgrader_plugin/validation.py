"""Make nbgrader's Validate run a notebook as grading does, and show what the checks printed."""

from nbformat import NotebookNode
from nbgrader.apps import validateapp
from nbgrader.preprocessors import CheckCellMetadata, ClearOutput
from nbgrader.server_extensions.validate_assignment import handlers
from nbgrader.validator import Validator
from traitlets import List

from grader.nbgrader_plugin.robust_execute import RobustExecute


class RobustValidator(Validator):
    """Validates a notebook, whatever it does to its kernel; its answer holds the verdicts."""

    preprocessors = List([CheckCellMetadata, ClearOutput, RobustExecute])

    def _extract_error(self, cell: NotebookNode) -> str:
        """Return what the cell printed, which names the mistake, then its exception."""
        outputs = cell.get("outputs", [])
        printed = [output.text for output in outputs if output.output_type == "stream"]
        return "".join([*printed, super()._extract_error(cell)])


def install() -> None:
    """Use RobustValidator in JupyterLab's Validate and in `nbgrader validate`.

    Which class validates is no option of nbgrader, so the name is replaced where it is looked up.
    """
    handlers.Validator = RobustValidator
    validateapp.Validator = RobustValidator
