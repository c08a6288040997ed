"""What a learner sees of a run in JupyterLab: a chart, and selectors that redraw it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_output
from notebook_page import run_all, write
from playwright.sync_api import expect

from sandbox.event import Event, Op
from sandbox.ledger import Ledger
from sandbox.pictures.picture import bundle
from sandbox.pictures.run_picture import draw_run
from sandbox.run import Run

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
PICTURE = ".sandbox-picture:has(> svg)"
THIRD = "collective #3, all_reduce, of ranks 0-2"
DEAD_WIDGET = "Error displaying widget"
TRAIN = """import sandbox
def train():
    import torch, torch.distributed as dist
    for _ in range(3):
        dist.all_reduce(torch.ones(1000))
    dist.barrier()
sandbox.launch(train, world_size=3)"""


EVENTS = [
    Event(rank=rank, seq=1, op=Op.ALL_REDUCE, group=(0, 1), numel=10, dtype="float32", nbytes=40,
          start_s=0.1, end_s=0.5)
    for rank in (0, 1)
]  # fmt: skip
LEDGER = Ledger(EVENTS)


def save(page, path: Path, keeps_widgets: bool) -> None:
    """Save, until the widgets are in what is saved: JupyterLab collects them during a save."""
    end_s = time.monotonic() + 60
    while True:
        page.keyboard.press("Control+s")
        expect(page.get_by_text("Saving completed")).to_be_visible()
        if ("widgets" in json.loads(path.read_text())["metadata"]) is keeps_widgets:
            return
        assert time.monotonic() < end_s
        page.wait_for_timeout(200)


@pytest.mark.parametrize("keeps_widgets", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_run_is_drawn_a_selector_shows_a_part_and_what_is_saved_is_whole(
    lab, open_notebook, keeps_widgets: bool
) -> None:
    write(lab.folder / "pictures.ipynb", "%load_ext sandbox", TRAIN)
    page = open_notebook("pictures.ipynb")
    page.set_viewport_size({"width": 1000, "height": 900})
    run_all(page)
    picture, part = page.locator(PICTURE), page.locator(".sandbox-selectors .sandbox-part")
    expect(picture).to_contain_text("Ranks 0-2: 4 collectives each")
    expect(picture.locator("title", has_text=THIRD)).to_have_count(3)
    output = page.locator(".jp-OutputArea-output", has=picture)
    place, room = picture.bounding_box(), output.bounding_box()
    assert place["width"] <= room["width"] + 1
    page.locator("select", has_text="all operations").select_option("barrier")
    expect(part).to_contain_text("Ranks 0-2: 1 barrier each")
    expect(picture).to_be_hidden()
    part_place = part.bounding_box()
    assert (part_place["x"], part_place["width"]) == (place["x"], place["width"])
    if keeps_widgets:
        page.get_by_role("menuitem", name="Settings", exact=True).click()
        page.get_by_role("menuitem", name="Save Widget State Automatically").click()
    save(page, lab.folder / "pictures.ipynb", keeps_widgets)
    lab.end_kernels()
    page = open_notebook("pictures.ipynb")
    expect(page.locator(PICTURE)).to_contain_text("Ranks 0-2: 4 collectives each")
    expect(page.locator(PICTURE)).to_be_visible()
    lists = page.locator("select", has_text="all operations")
    dead = lists if keeps_widgets else page.get_by_text(DEAD_WIDGET)
    expect(dead.first).to_be_attached()
    assert not any(widget.is_visible() for widget in dead.all())


@pytest.mark.slow
def test_a_sharding_is_drawn_once_and_ranks_stand_side_by_side(lab, open_notebook) -> None:
    cell = "from sandbox import show_sharding\nshow_sharding(torch.nn.Linear(4, 6))"
    write(
        lab.folder / "values.ipynb",
        "%load_ext sandbox",
        f"%%ranks 3\n{cell}",
        "%%ranks\ntorch.ones(2) * rank",
    )
    page = open_notebook("values.ipynb")
    run_all(page)
    picture = page.locator(PICTURE)
    expect(picture.last).to_contain_text("Ranks 0-2: float32 (2,) each, all different.")
    expect(picture).to_have_count(2)
    expect(picture.first).to_contain_text("2 parameters on ranks 0-2: each rank holds 30 elements.")


def test_a_deadlock_is_drawn_under_its_message(lab, open_notebook) -> None:
    cell = "%%ranks 3\nif rank != 2:\n    dist.barrier()"
    write(lab.folder / "deadlock.ipynb", "%load_ext sandbox", cell)
    page = open_notebook("deadlock.ipynb")
    run_all(page)
    picture = page.locator(PICTURE)
    expect(picture).to_contain_text("✗ rank 2")
    message = page.locator(".jp-OutputArea-output", has_text="DeadlockError")
    assert message.bounding_box()["y"] < picture.bounding_box()["y"]


def test_no_chart_is_cut_off_beside_the_file_browser_of_a_small_window(lab, open_notebook) -> None:
    tracked = TRAIN.replace("world_size=3", "world_size=3, memory=True")
    write(lab.folder / "narrow.ipynb", "%load_ext sandbox", tracked)
    page = open_notebook("narrow.ipynb")
    page.set_viewport_size({"width": 800, "height": 900})
    expect(page.locator(".jp-DirListing").first).to_be_visible()
    run_all(page)
    picture = page.locator(PICTURE)
    expect(picture).to_contain_text("Ranks 0-2: 4 collectives each")
    assert picture.evaluate("place => place.scrollWidth - place.clientWidth") <= 0
    outside = """place => [...place.querySelectorAll("svg text, p")].filter(text =>
        text.getBoundingClientRect().right > place.getBoundingClientRect().right + 1)
        .map(text => text.textContent)"""
    assert picture.evaluate(outside) == []


@pytest.mark.slow
def test_what_is_not_trusted_is_legible_without_its_script(lab, open_notebook) -> None:
    """A notebook of another person: JupyterLab shows its pictures as images."""
    shown = bundle(draw_run(Run(2, [None, None], LEDGER, ["", ""], 1.0)), "Run(…)")
    write(lab.folder / "foreign.ipynb", "run")
    notebook = nbformat.read(lab.folder / "foreign.ipynb", as_version=4)
    notebook.cells[0].outputs = [new_output("display_data", data=shown)]
    nbformat.write(notebook, lab.folder / "foreign.ipynb")
    page = open_notebook("foreign.ipynb")
    page.set_viewport_size({"width": 800, "height": 900})
    images = page.locator(".sandbox-picture > img")
    expect(images).to_have_count(2)
    for number, picture in enumerate(draw_run(Run(2, [None, None], LEDGER, ["", ""], 1.0))):
        image = images.nth(number)
        assert image.evaluate("image => image.complete")
        assert image.bounding_box()["height"] == picture.height_px  # drawn at its size
        assert image.bounding_box()["width"] >= picture.narrowest_px
