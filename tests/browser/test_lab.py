"""What a learner sees in JupyterLab: verdicts, merged output, one error message, and Stop."""

from __future__ import annotations

import re

import nbformat
import pytest
from notebook_page import run_all, write
from playwright.sync_api import Page, expect

from grader.course import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
OUTPUT = ".jp-OutputArea-output"
RUN_TIMEOUT_MS = 200_000


def test_the_released_exercise_says_what_is_not_solved_yet(lab, open_notebook) -> None:
    page = open_notebook("fsdp01.ipynb")
    run_all(page)
    expect(page.locator(OUTPUT, has_text="○ not solved yet: rows_of_rank")).to_be_visible()
    expect(page.locator(OUTPUT, has_text="NotSolved: rows_of_rank")).to_be_visible()
    only_validate_is_left_of_nbgrader(lab, page)


def test_a_verdict_is_legible_in_the_dark_theme(lab, open_notebook) -> None:
    numbers = {"red": 31, "green": 32, "cyan": 36}
    printed = [f"print('\\x1b[1;{number}mverdict\\x1b[0m')" for number in numbers.values()]
    write(lab.folder / "colours.ipynb", "\n".join(printed))
    page = open_notebook("colours.ipynb")
    run_all(page)
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    for colour in numbers:
        word = page.locator(f"{OUTPUT} [class*=ansi-{colour}]", has_text="verdict")
        found = re.findall(r"\d+", word.evaluate("word => getComputedStyle(word).color"))
        lighter, darker = brightness([int(part) for part in found]), brightness([17, 17, 17])
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, colour  # WCAG 2, level AA


def brightness(rgb: list[int]) -> float:
    """Return the relative luminance of a colour, 0 to 1; WCAG 2."""
    parts = [part / 255 for part in rgb]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def only_validate_is_left_of_nbgrader(lab, page: Page) -> None:
    """Check the page's menus, the server's handlers, and that its log names no misplaced course."""
    expect(page.get_by_role("button", name="Validate")).to_be_visible()
    assert page.get_by_role("menuitem", name="Nbgrader").count() == 0
    asking = {"headers": {"Authorization": f"token {lab.token}"}}
    assert page.request.get(f"{lab.url}formgrader", **asking).status == 404
    write(lab.folder / "valid.ipynb", "x = 1")
    url = f"{lab.url}assignments/validate"
    validated = page.request.post(url, form={"path": "valid.ipynb"}, **asking).json()
    assert validated == {"success": True, "value": {}}
    assert "not a subdirectory" not in lab.log.read_text()


@pytest.mark.parametrize(
    ("last", "num_checks"),
    [("build", 3), pytest.param("shard_hybrid", 11, marks=pytest.mark.slow)],
)
def test_the_solved_exercise_passes_every_check_up_to(
    lab, open_notebook, last: str, num_checks: int
) -> None:
    notebook = nbformat.read(ROOT / "exercises/source/fsdp01/fsdp01.ipynb", as_version=4)
    [stop] = [n for n, c in enumerate(notebook.cells) if f"fsdp01.check_{last}(" in c.source]
    notebook.cells = notebook.cells[: stop + 1]
    nbformat.write(notebook, lab.folder / "solved.ipynb")
    page = open_notebook("solved.ipynb")
    run_all(page)
    passed = page.locator(OUTPUT, has_text=f"✓ passed: {last}")
    passed.wait_for(timeout=RUN_TIMEOUT_MS, state="attached")
    assert page.locator(OUTPUT, has_text="✓ passed").count() == num_checks
    for kind in ("error", "stderr"):
        assert page.locator(f"{OUTPUT}[data-mime-type*={kind}]").count() == 0


def test_ranks_their_output_and_one_message_for_an_error(lab, open_notebook) -> None:
    write(
        lab.folder / "ranks.ipynb",
        "%load_ext sandbox",
        "%%ranks 4\nprint('hello')\nrank + 0.5",
        "%%ranks\nif rank == 2:\n    raise ValueError('three rows are left over')\ndist.barrier()",
    )
    page = open_notebook("ranks.ipynb")
    run_all(page)
    # Lines that come close to each other are merged; how close depends on the machine.
    expect(page.locator(OUTPUT, has_text=re.compile("ranks? [0-3, -]+: hello"))).to_be_visible()
    expect(page.locator(OUTPUT, has_text="rank 3: 3.5")).to_be_visible()
    error = page.locator(OUTPUT, has_text="RankError")
    expect(error).to_contain_text("rank 2 raised ValueError: three rows are left over")
    expect(error).to_contain_text("cell In[3], line 3")
    assert "sandbox/" not in error.inner_text()
    breaks = "pre => [getComputedStyle(pre).wordBreak, getComputedStyle(pre).overflowWrap]"
    assert error.locator("pre").evaluate(breaks) == ["normal", "anywhere"]  # words stay whole


def test_stop_ends_a_hung_cell_and_variables_survive(lab, open_notebook) -> None:
    write(
        lab.folder / "stop.ipynb",
        "%load_ext sandbox\nx = 41",
        "%%ranks 2\ny = rank + 70",
        "%%ranks\nprint('spinning')\nwhile True:\n    pass",
    )
    page = open_notebook("stop.ipynb")
    run_all(page)
    expect(page.locator(OUTPUT, has_text="spinning").first).to_be_visible()
    page.get_by_role("menuitem", name="Kernel", exact=True).click()
    page.get_by_role("menuitem", name="Interrupt Kernel").click()
    stopped = page.locator(OUTPUT, has_text="KeyboardInterrupt: the ranks were stopped")
    expect(stopped).to_be_visible()
    write_and_run(page, "print(x + 1)", "42")
    write_and_run(page, "%%ranks\ny", "rank 1: 71")


def write_and_run(page: Page, code: str, expected: str) -> None:
    """Append a cell, as a person would, and see its output."""
    page.locator(".jp-Cell .cm-content").last.click()
    page.keyboard.press("Escape")
    page.keyboard.press("b")
    page.keyboard.press("Enter")
    page.keyboard.insert_text(code)
    page.keyboard.press("Shift+Enter")
    expect(page.locator(OUTPUT, has_text=expected)).to_be_visible()
