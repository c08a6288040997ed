"""A bar in a notebook is seen while it lasts; nothing of it is in what is saved."""

from __future__ import annotations

import json
from typing import Any

from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

PATIENT = """import time
from sandbox.progress import waiting
print("before")
with waiting("Warming up", 1.0) as tick:
    end_s = time.monotonic() + 1.0
    while time.monotonic() < end_s:
        tick()
print("after")"""


class Watched(NotebookClient):
    """Keeps what was shown on the way."""

    def process_message(self, msg: dict[str, Any], *where: Any) -> Any:
        self.seen = [*getattr(self, "seen", []), msg["content"].get("data", {})]
        return super().process_message(msg, *where)


def test_a_bar_is_seen_and_leaves_nothing_behind(monkeypatch) -> None:
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    notebook = new_notebook(cells=[new_code_cell(PATIENT)])
    client = Watched(notebook, timeout=60)
    client.execute()
    assert sum("Warming up" in data.get("text/plain", "") for data in client.seen) > 1
    assert "Warming up" not in json.dumps(notebook.cells[0].outputs)
    assert all(not any(output.get("data", {}).values()) for output in notebook.cells[0].outputs)
    printed = [output.text for output in notebook.cells[0].outputs if "text" in output]
    assert "".join(printed) == "before\nafter\n"
    assert "widgets" not in notebook.metadata
