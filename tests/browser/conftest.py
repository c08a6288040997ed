"""JupyterLab as `make lab` starts it, on a folder of its own, and a Chromium that looks at it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import BrowserContext, Page, expect, sync_playwright

from grader.learn import fill

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DEADLINE_S = 60.0
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a browser, with the reason, where there is none."""
    if CHROMIUM is None:
        for item in items:
            if item.path.is_relative_to(Path(__file__).parent):
                item.add_marker(pytest.mark.skip(reason="no chromium: apt install chromium"))


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab."""

    folder: Path
    log: Path
    url: str
    token: str

    def address(self, notebook: str) -> str:
        return f"{self.url}lab/tree/{notebook}?token={self.token}&reset"

    def end_kernels(self) -> None:
        sessions = f"{self.url}api/sessions"
        for session in json.load(urllib.request.urlopen(f"{sessions}?token={self.token}")):
            address = f"{sessions}/{session['id']}?token={self.token}"
            urllib.request.urlopen(urllib.request.Request(address, method="DELETE"))


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder, home = tmp_path_factory.mktemp("learn"), tmp_path_factory.mktemp("home")
    list(fill(learn=folder))
    flags = ["--no-browser", "--allow-root", "--ServerApp.port=0", "--IdentityProvider.token=test"]
    start = f"import grader.lab, pathlib; grader.lab.start({flags}, pathlib.Path({str(folder)!r}))"
    environ = os.environ | {"HOME": str(home), "JUPYTER_RUNTIME_DIR": str(home / "runtime")}
    with (home / "log").open("w") as log:
        command = [sys.executable, "-c", start]
        server = subprocess.Popen(command, env=environ, stdout=log, stderr=log)
    yield Lab(folder, home / "log", wait_for_url(home / "runtime", server), "test")
    children = psutil.Process(server.pid).children(recursive=True)
    server.terminate()
    server.wait(DEADLINE_S)
    _, alive = psutil.wait_procs(children, DEADLINE_S)
    assert not alive, f"left running by JupyterLab: {alive}"


def wait_for_url(runtime: Path, server: subprocess.Popen) -> str:
    end_s = time.monotonic() + DEADLINE_S
    while time.monotonic() < end_s:
        for path in runtime.glob("jpserver-*.json"):
            with contextlib.suppress(ValueError):  # half written
                return json.loads(path.read_text())["url"]
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(0.1)
            break
    raise AssertionError(f"JupyterLab did not start: {(runtime.parent / 'log').read_text()}")


@pytest.fixture(scope="session")
def browser() -> Iterator[BrowserContext]:
    """Return one browser for all tests: it loads JupyterLab's code once."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        yield browser.new_context()
        browser.close()


@pytest.fixture
def page(browser: BrowserContext) -> Iterator[Page]:
    page = browser.new_page()
    page.set_viewport_size({"width": 1280, "height": 1600})
    page.set_default_timeout(DEADLINE_S * 1000)
    expect.set_options(timeout=DEADLINE_S * 1000)
    yield page
    page.close()


@pytest.fixture
def open_notebook(lab: Lab, page: Page) -> Iterator[Callable[[str], Page]]:
    def open_and_wait(name: str) -> Page:
        page.goto(lab.address(name))
        page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()
        return page

    yield open_and_wait
    lab.end_kernels()  # an idle one would go on to import Ray and DeepSpeed beside other tests
