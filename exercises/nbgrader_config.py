"""How nbgrader releases, grades and gives feedback on the exercises: run it in this directory."""

import os
import sys
import warnings
from pathlib import Path

from grader.nbgrader_plugin.feedback import template_folders
from grader.nbgrader_plugin.validation import install as install_validator

CELL_TIMEOUT_S = 60  # a check ends itself after 20 s

# nbgrader calls `alembic` by name, which lies beside this Python whether or not the venv is active.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"

# nbgrader 0.9.6 with SQLAlchemy 2.1; harmless.
warnings.filterwarnings("ignore", message="Object of type .* not in session")

c = get_config()  # noqa: F821 (Jupyter puts it here)
c.CourseDirectory.course_id = "shardlab"

c.Execute.timeout = CELL_TIMEOUT_S
c.Execute.skip_cells_with_tag = "\0"  # no tag keeps a cell from being run

plugin = "grader.nbgrader_plugin"
c.Autograde.exporter_class = f"{plugin}.submission.SubmissionExporter"
c.Autograde.sanitize_preprocessors = [
    f"{plugin}.rebuild.RebuildFromMaster",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.autograde_preprocessors = [
    f"{plugin}.robust_execute.RobustExecute",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.GenerateFeedback.preprocessors = [
    "nbgrader.preprocessors.GetGrades",
    f"{plugin}.feedback.HideTests",
    "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
]

c.HTMLExporter.template_name = "shardlab"
c.HTMLExporter.template_file = "scores.html.j2"
c.HTMLExporter.extra_template_basedirs = template_folders()

install_validator()
