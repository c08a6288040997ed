"""Settings of NCCL: what is misspelt, not accepted or contradictory is refused, a line for each."""

from __future__ import annotations

import os
import re
import runpy
from pathlib import Path

import pytest

import sandbox
from sandbox.nccl_settings import find_problems
from sandbox.nccl_variables import VARIABLES

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("NCCL_")]:
        monkeypatch.delenv(name)


def report(name: str) -> str | None:
    return os.environ.get(name)


def test_ranks_started_inside_see_the_settings_and_nothing_is_left_after(monkeypatch) -> None:
    monkeypatch.setenv("NCCL_DEBUG", "WARN")
    with sandbox.nccl(NCCL_DEBUG="INFO", NCCL_MIN_CTAS=2):
        assert sandbox.launch(report, "NCCL_DEBUG", world_size=2).results == ["INFO"] * 2
        assert sandbox.launch(report, "NCCL_MIN_CTAS", world_size=1).results == ["2"]
    assert os.environ["NCCL_DEBUG"] == "WARN"
    assert "NCCL_MIN_CTAS" not in os.environ


def test_all_that_is_wrong_is_told_at_once_and_nothing_is_set() -> None:
    with (
        pytest.raises(sandbox.LaunchError) as caught,
        sandbox.nccl(NCCL_ALGOS="Ring", NCCL_NTHREADS=4, NCCL_DEBUG="INFO"),
    ):
        raise AssertionError
    unknown, refused = str(caught.value).splitlines()
    assert unknown.endswith("documents no such variable. Hint: did you mean NCCL_ALGO?")
    assert refused.startswith("NCCL_NTHREADS: expected 64, 128, 256 or 512, came '4' (threads of a")
    assert "NCCL_DEBUG" not in os.environ


def test_what_was_wrong_before_is_not_held_against_what_is_asked_for(monkeypatch) -> None:
    monkeypatch.setenv("NCCL_NO_SUCH", "1")
    monkeypatch.setenv("NCCL_MAX_CTAS", "2")
    with sandbox.nccl(NCCL_MIN_CTAS=2):
        pass
    with pytest.raises(sandbox.LaunchError) as caught, sandbox.nccl(NCCL_MIN_CTAS=4):
        pass
    assert str(caught.value) == "NCCL_MIN_CTAS=4 is above NCCL_MAX_CTAS=2."


@pytest.mark.parametrize(
    "settings",
    [
        {"NCCL_IB_DISABLE": "1", "NCCL_IB_HCA": "=mlx5_0:1"},
        {"NCCL_IB_DISABLE": "1", "NCCL_NET": "IB"},
        {"NCCL_NET": "Socket", "NCCL_IB_SL": "5"},
        {"NCCL_SOCKET_NTHREADS": "16", "NCCL_NSOCKS_PERTHREAD": "5"},
        {"NCCL_MIN_NCHANNELS": "16", "NCCL_MAX_CTAS": "8"},
        {"NCCL_ALGO": "Tree"},
        {"NCCL_ALGO": "^Ring,NVLS"},
        {"NCCL_P2P_DISABLE": "1", "NCCL_P2P_LEVEL": "NVL"},
        {"NCCL_IB_GID_INDEX": "3", "NCCL_IB_ADDR_FAMILY": "AF_INET6"},
    ],
)
def test_each_contradiction_is_one_line_and_its_parts_alone_are_none(settings) -> None:
    (line,) = find_problems(settings)
    assert all(name in line for name in settings)
    if len(settings) > 1:
        assert all(find_problems({name: value}) == [] for name, value in settings.items())


@pytest.mark.parametrize(
    ("name", "accepted", "refused"),
    [
        ("NCCL_ALGO", ["ring,TREE", "^Tree", "ring;allreduce:tree", "allreduce:^nvls"], ["Rings"]),
        ("NCCL_ALGO", ["ring;broadcast:ring,tree"], ["ring;allreduces:tree", "ring,", ""]),
        ("NCCL_PROTO", ["ll,simple", "^LL128"], ["LL64"]),
        ("NCCL_IB_TIMEOUT", ["0", "31"], ["32", "-1", "2.5", "often"]),
        ("NCCL_IB_TC", ["106", "-1"], ["256"]),
        ("NCCL_P2P_LEVEL", ["nvl", "LOC", "4"], ["NVLINK", "-1"]),
        ("NCCL_DEBUG_SUBSYS", ["INIT,NET", "^ALL"], ["INITS"]),
        ("NCCL_RAS_TIMEOUT_FACTOR", ["0.5"], ["0", "inf", "fast"]),
        ("NCCL_TOPO_FILE", ["/etc/topo.xml"], [""]),
        ("NCCL_TREE_THRESHOLD", [], ["0"]),
    ],
)
def test_values_are_taken_as_nccl_takes_them(name, accepted, refused) -> None:
    assert [value for value in accepted if VARIABLES[name].refusal(value)] == []
    assert [value for value in refused if not VARIABLES[name].refusal(value)] == []


def test_the_block_that_articles_copy_is_refused_where_nccl_does_and_its_rest_is_taken() -> None:
    page = (ROOT / "docs" / "nccl.md").read_text()
    copied, rest = (
        dict(re.findall(r"^    (NCCL_\w+)=(\S+)$", part, re.MULTILINE))
        for part in page.split("| what it sets |")
    )
    assert len(copied) == 12
    (line,) = find_problems(copied)
    assert line.startswith("NCCL_NTHREADS: ")
    assert rest
    assert find_problems(rest) == []


def test_every_variable_is_explained_in_one_line() -> None:
    assert repr(sandbox.explain_nccl("NCCL_IB_TIMEOUT")) == (
        "NCCL_IB_TIMEOUT: InfiniBand: waits 4.096 µs × 2^value; 20 is 4.3 s, 22 is 17 s, 0 for "
        "ever. Values: a whole number from 0 to 31."
    )
    assert len(sandbox.explain_nccl().splitlines()) == len(VARIABLES)
    with pytest.raises(sandbox.LaunchError, match="did you mean NCCL_IB_TIMEOUT"):
        sandbox.explain_nccl("NCCL_IB_TIMEOUTS")


def test_what_is_set_by_launch_and_what_is_not_nccls_is_refused() -> None:
    with pytest.raises(sandbox.LaunchError) as caught, sandbox.nccl(NCCL_SOCKET_IFNAME="eth0"):
        pass
    assert "launch sets it itself" in str(caught.value)
    with pytest.raises(sandbox.LaunchError) as caught, sandbox.nccl(OMP_NUM_THREADS=2):
        pass
    assert "begins with NCCL_" in str(caught.value)


def test_a_newer_page_is_compared_by_its_headings() -> None:
    compare = runpy.run_path(str(ROOT / "tools" / "nccl_names.py"))["compare"]
    headings = [
        *(name for name in VARIABLES if name != "NCCL_ALGO"),
        "NCCL_NEW (formerly NCCL_OLD)",
    ]
    page = "".join(f".. _x:\n\n{name}\n{'-' * len(name)}\nSee NCCL_OTHER.\n" for name in headings)
    assert compare(page) == (["NCCL_NEW"], ["NCCL_ALGO"])
