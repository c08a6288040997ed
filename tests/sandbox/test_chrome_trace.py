"""The saved trace holds every event at its time, in a shape that Perfetto can draw."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st

import sandbox
from sandbox import Event, Ledger, Op, chrome_trace


def event(rank: int, start_s: float, duration_s: float | None) -> Event:
    end_s = None if duration_s is None else start_s + duration_s
    fields: dict[str, Any] = {"seq": 1, "op": Op.ALL_REDUCE, "group": (0, 1), "numel": 2}
    return Event(rank=rank, dtype="float32", nbytes=8, start_s=start_s, end_s=end_s, **fields)


times = st.integers(0, 20).map(float)
events = st.builds(event, st.integers(0, 3), times, st.one_of(st.none(), times))


@given(st.lists(events, max_size=12))
def test_what_overlaps_lies_on_threads_of_its_own(events: list[Event]) -> None:
    records = chrome_trace.to_trace(events)["traceEvents"]
    drawn = [record for record in records if record["ph"] != "M"]
    assert sorted((r["pid"], r["ts"]) for r in drawn) == sorted(
        (e.rank, e.start_s * 1e6) for e in events
    )
    ends: dict[tuple[int, int], float] = defaultdict(float)
    for record in sorted(drawn, key=lambda r: (r["pid"], r["tid"], r["ts"])):
        thread = record["pid"], record["tid"]
        assert record["ts"] >= ends[thread]
        ends[thread] = record["ts"] + record.get("dur", 0.0)
    named = {r["pid"]: r["args"]["name"] for r in records if r["name"] == "process_name"}
    assert named == {e.rank: f"rank {e.rank}" for e in events}


def test_save_writes_a_runs_events(tmp_path: Path) -> None:
    run = sandbox.launch(lambda: dist.all_reduce(torch.ones(5)), world_size=3)
    run.ledger.save(tmp_path / "trace.json")
    records = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    drawn = [record for record in records if record["ph"] == "X"]
    assert [(r["name"], r["args"]["nbytes"]) for r in drawn] == [("all_reduce", 20)] * 3
    assert sorted(r["pid"] for r in drawn) == [0, 1, 2]
    assert all("test_chrome_trace.py, line" in r["args"]["line"] for r in drawn)


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"trace\.csv', expected a name that ends in \.json"):
        Ledger().save(tmp_path / "trace.csv")


def test_to_pandas_has_a_row_per_event_and_a_column_per_field() -> None:
    frame = Ledger([event(1, 2.0, None), event(0, 1.0, 0.5)]).to_pandas()
    assert list(frame["rank"]) == [0, 1]
    assert list(frame["op"]) == ["all_reduce", "all_reduce"]
    assert frame["nbytes"].sum() == 16
    assert frame["end_s"].isna().tolist() == [False, True]
    assert list(Ledger().to_pandas().columns) == list(frame.columns)
