"""Errors are short enough to read, and one message, whatever the exception or the value does."""

from __future__ import annotations

import pytest

import sandbox


def test_of_a_long_message_the_start_and_the_end_are_shown() -> None:
    def fail() -> None:
        raise ValueError("first" + "x" * 1_000_000 + "last")

    with pytest.raises(sandbox.RankError) as caught:
        sandbox.launch(fail, world_size=2)
    text = str(caught.value)
    assert len(text) < 10_000
    assert "ValueError: firstxxx" in text
    assert "xxxlast" in text
    assert "characters left out" in text


def test_frames_of_a_function_that_calls_itself_are_folded() -> None:
    def call_itself() -> None:
        call_itself()

    with pytest.raises(sandbox.RankError) as caught:
        sandbox.launch(call_itself, world_size=1)
    assert str(caught.value).count("in call_itself") == 3
    assert "[Previous line repeated" in str(caught.value)


def test_frames_of_functions_that_call_each_other_are_cut() -> None:
    def ping() -> None:
        pong()

    def pong() -> None:
        ping()

    with pytest.raises(sandbox.RankError, match="more lines of this kind") as caught:
        sandbox.launch(ping, world_size=1)
    assert len(str(caught.value).splitlines()) < 150


def load_too_much(folder: str, own_key: bool) -> None:
    import torch
    import torch.distributed as dist
    from torch.distributed import checkpoint

    checkpoint.save({"weight": torch.ones(3)}, checkpoint_id=folder)
    missing = f"bias{dist.get_rank()}" if own_key else "bias"
    checkpoint.load({"weight": torch.ones(3), missing: torch.ones(2)}, checkpoint_id=folder)


@pytest.mark.parametrize("own_key", [False, True])
def test_a_checkpoint_error_begins_with_what_is_wrong_and_is_told_once(tmp_path, own_key) -> None:
    with pytest.raises(sandbox.RankError) as caught:
        sandbox.launch(load_too_much, str(tmp_path), own_key, world_size=3)
    first, second, *_ = lines = str(caught.value).splitlines()
    who, key = ("rank 0", "bias0") if own_key else ("ranks 0-2", "bias")
    what = f"RuntimeError: Missing key in checkpoint state_dict: {key}."
    assert first == (
        "ranks 0-2 raised torch.distributed.checkpoint.api.CheckpointException: " + f"{who}: {what}"
    )
    assert second == "… (2 more of other ranks left out)" or not own_key
    assert caught.value.site == f"{__file__}:{load_too_much.__code__.co_firstlineno + 7}"
    text = caught.value.traceback_text
    assert (
        text.index("default_planner.py") < text.index("which led to:") < text.index("RuntimeE", -99)
    )
    assert len(lines) < 40


@pytest.mark.parametrize("evil", [SystemExit, KeyboardInterrupt, RuntimeError])
def test_an_exception_whose_text_raises_is_the_ranks_error(evil: type[BaseException]) -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise evil

    def fail() -> None:
        raise Broken

    with pytest.raises(sandbox.RankError, match="ranks 0, 1 raised .*Broken") as caught:
        sandbox.launch(fail, world_size=2)
    assert "".join(caught.value.run.output) == ""


@pytest.mark.parametrize("code", ["__import__('sys').exit(5)", "raise_it()"])
def test_a_result_whose_loading_ends_programs_is_an_error(code: str) -> None:
    class Evil:
        def __reduce__(self):
            if code == "raise_it()":
                return exec, ("raise KeyboardInterrupt",)
            return eval, (code,)

    named = "SystemExit: 5" if "exit" in code else "KeyboardInterrupt"
    with pytest.raises(sandbox.LaunchError, match=f"rank 0 cannot be loaded here: {named}"):
        sandbox.launch(Evil, world_size=1)
