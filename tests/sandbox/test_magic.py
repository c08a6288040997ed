"""%%ranks: one cell on all ranks, variables that live on, and values shown per rank."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import sandbox
from sandbox import LaunchError, backend, magic


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "sandbox")
    yield shell
    while magic._worlds:
        magic._worlds.pop().close()
    shell.run_line_magic("unload_ext", "sandbox")
    InteractiveShell.clear_instance()


def run(shell: InteractiveShell, cell: str) -> None:
    shell.run_cell(cell).raise_error()


def test_variables_live_on_and_the_last_value_is_shown(shell, capsys) -> None:
    run(shell, "%%ranks 3\nx = torch.ones(2) * rank")
    run(shell, "%%ranks\ndist.all_reduce(x)\nx.tolist()")
    assert capsys.readouterr().out.splitlines()[-1] == "ranks 0-2: [3.0, 3.0]"


def test_values_that_differ_are_shown_per_rank(shell, capsys) -> None:
    run(shell, "%%ranks 2\nrank * 10")
    assert capsys.readouterr().out.splitlines()[-2:] == ["rank 0: 0", "rank 1: 10"]


def test_functions_and_imports_of_the_notebook_are_there_and_its_data_is_not(shell, capsys) -> None:
    run(shell, "import math\ndef double(x):\n    return 2 * x\ndata = 3")
    run(shell, "%%ranks 2\ndouble(math.floor(1.5))")
    assert capsys.readouterr().out.splitlines()[-1] == "ranks 0, 1: 2"
    with pytest.raises(Exception, match="name 'data' is not defined"):
        run(shell, "%%ranks\ndata")


def test_a_newer_definition_in_the_notebook_replaces_the_older(shell, capsys) -> None:
    for value in (1, 2):
        run(shell, f"def f():\n    return {value}")
        run(shell, "%%ranks 2\nf()")
    assert capsys.readouterr().out.splitlines()[-1] == "ranks 0, 1: 2"


def test_what_a_cell_defined_on_the_ranks_wins_over_the_notebook(shell, capsys) -> None:
    run(shell, "def f():\n    return 'notebook'")
    run(shell, "%%ranks 2\ndef f():\n    return 'rank'")
    run(shell, "%%ranks\nf()")
    assert capsys.readouterr().out.splitlines()[-1] == "ranks 0, 1: 'rank'"


def test_only_runs_on_some_ranks(shell, capsys) -> None:
    run(shell, "%%ranks 4 --only 0,2\nrank")
    assert capsys.readouterr().out.splitlines()[-2:] == ["rank 0: 0", "rank 2: 2"]


@pytest.mark.parametrize("only", ["4", "-1", "a", "0,,1"])
def test_a_rank_that_is_not_there_is_refused(shell, only: str) -> None:
    with pytest.raises(Exception, match="expected ranks from 0 to 3"):
        run(shell, f"%%ranks 4 --only={only}\nrank")


def test_fresh_forgets_and_another_size_keeps(shell, capsys) -> None:
    run(shell, "%%ranks 2\nx = rank")
    run(shell, "%%ranks 3\n'x' in globals()")
    assert capsys.readouterr().out.splitlines()[-2:] == ["ranks 0, 1: True", "rank 2: False"]
    run(shell, "%%ranks --fresh\n'x' in globals()")
    assert capsys.readouterr().out.splitlines()[-1] == "ranks 0-2: False"


def test_trace_lists_the_collectives(shell, capsys) -> None:
    run(shell, "%%ranks 2 --trace\ndist.all_reduce(torch.ones(3))")
    out = capsys.readouterr().out
    assert "rank 1: all_reduce of 3 × float32 (12 bytes)" in out


def test_an_error_names_the_cell_and_the_line_as_the_learner_sees_it(shell) -> None:
    run(shell, "%%ranks 2\nx = 1")
    with pytest.raises(
        Exception, match=r"rank 1 raised ValueError: no(?s:.*)cell In\[\d+\], line 4"
    ):
        run(shell, "%%ranks\n# line 2\nif rank == 1:\n    raise ValueError('no')")


def test_magics_in_the_cell_are_understood(shell, capsys) -> None:
    run(shell, "%%ranks 1 --timeout 20\n2 + 2;\n3")
    assert capsys.readouterr().out.splitlines()[-1] == "rank 0: 3"


def test_a_rank_that_is_not_called_is_known_never_to_come(shell) -> None:
    run(shell, "%%ranks 2\nx = 1")
    with pytest.raises(
        Exception, match="rank 1 never called collective #1, barrier, of ranks 0, 1"
    ):
        run(shell, "%%ranks --only 0\ndist.barrier()")


def test_a_ranks_variable_wins_over_one_of_the_notebook_that_a_function_names(
    shell, capsys
) -> None:
    run(shell, "model = 'of the notebook'\ndef show_model():\n    return model")
    run(shell, "%%ranks 2\nmodel = f'of rank {rank}'")
    run(shell, "%%ranks\nshow_model(), model")
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "rank 1: ('of rank 1', 'of rank 1')"


def test_the_cell_is_named_by_the_number_that_stands_beside_it(shell) -> None:
    shell.run_cell("1", store_history=True)
    number = shell.execution_count
    result = shell.run_cell("%%ranks 2\nraise ValueError('no')", store_history=True)
    with pytest.raises(Exception, match=rf"at cell In\[{number}\], line 2"):
        result.raise_error()
    assert "sandbox/" not in str(result.error_in_exec)


def test_a_syntax_error_is_one_line_with_the_cells_own(shell) -> None:
    with pytest.raises(
        LaunchError, match=r"'\(' was never closed at cell In\[.*\], line 2: x = \(1"
    ):
        run(shell, "%%ranks 2\nx = (1,")


def test_ranks_that_a_smaller_world_ends_are_named(shell, capsys) -> None:
    run(shell, "%%ranks 3\nx = 1")
    run(shell, "%%ranks 2\nx")
    assert "Ended, and their variables are gone: rank 2." in capsys.readouterr().out


def test_a_rank_has_no_keyboard(shell) -> None:
    for call in ("input()", "breakpoint()"):
        with pytest.raises(sandbox.RankError, match=r"no keyboard(.|\n)*line 2"):
            run(shell, f"%%ranks 2\n{call}")


def test_memory_shows_each_ranks_peak_and_its_line(shell, capsys) -> None:
    run(shell, "%%ranks 2 --memory\nx = torch.zeros(1000 + 1000 * rank)\ny = x + 1\nNone")
    number = shell.execution_count
    assert capsys.readouterr().out.splitlines()[-2:] == [
        f"rank 0: peak 8.00 kB in init at cell In[{number}], line 3: other 8.00 kB",
        f"rank 1: peak 16.0 kB in init at cell In[{number}], line 3: other 16.0 kB",
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("return 5", "'return' outside function"),
        ("yield 5", "'yield' outside function"),
        ("await f()", "'await' outside function"),
        ("!ls", "IPython's commands do not run in ranks"),
        ("%time 1 + 1", "IPython's commands do not run in ranks"),
    ],
)
def test_what_no_rank_can_run_is_one_line(shell, line: str, reason: str) -> None:
    with pytest.raises(LaunchError, match=rf"{reason}.*cell In\[.*\], line 3") as caught:
        run(shell, f"%%ranks 2\nx = 1\n{line}")
    assert "\n" not in str(caught.value)


def test_a_variable_of_the_notebook_is_known_to_stay_there(shell) -> None:
    run(shell, "data = 3")
    with pytest.raises(sandbox.RankError, match="Hint: data is a variable of the notebook"):
        run(shell, "%%ranks 2\ndata")
    with pytest.raises(sandbox.RankError) as caught:
        run(shell, "%%ranks 2\nnowhere")
    assert "Hint" not in str(caught.value)


def test_a_cached_function_of_the_notebook_is_there(shell, capsys) -> None:
    run(shell, "import functools\n@functools.cache\ndef f():\n    return 'cached'")
    run(shell, "%%ranks 2\nf()")
    assert capsys.readouterr().out.splitlines()[-1] == "ranks 0, 1: 'cached'"


def test_a_semicolon_at_the_end_hides_the_value(shell, capsys) -> None:
    run(shell, "%%ranks 2\n'hidden';")
    assert "hidden" not in capsys.readouterr().out


def test_an_object_that_cannot_travel_is_named(shell) -> None:
    run(shell, "import threading\nlock = threading.Lock()\ndef use_lock():\n    return lock")
    with pytest.raises(LaunchError, match=r"^lock \(a _thread.lock\), which use_lock refers to"):
        run(shell, "%%ranks 2\nuse_lock()")


def test_a_value_that_cannot_be_shown_is_told_from_the_learners_own_line(shell) -> None:
    cell = "class Broken:\n    def __repr__(self):\n        raise ValueError('no text')\nBroken()"
    result = shell.run_cell(f"%%ranks 2\n{cell}")
    with pytest.raises(Exception, match="ranks 0, 1 raised ValueError: no text"):
        result.raise_error()
    assert "cell_value.py" not in str(result.error_in_exec)


@pytest.mark.parametrize("line", ["--frsh", "four", "--timeout long"])
def test_options_that_there_are_not_show_the_usage(shell, line: str, capsys) -> None:
    with pytest.raises(
        LaunchError, match=r"(?s)Usage:\n  %%ranks \[--only.*\nHint: .*%ranks --help"
    ):
        run(shell, f"%%ranks {line}\nrank")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("option", "hint"), [("--memoryy", "did you mean --memory? %ranks"), ("--zzz", "%ranks")]
)
def test_an_option_that_there_is_not_is_told_with_the_nearest(shell, option, hint) -> None:
    with pytest.raises(LaunchError) as caught:
        run(shell, f"%%ranks 2 {option}\nrank")
    assert f"unrecognized arguments: {option}. Usage:" in caught.value.message
    assert caught.value.message.endswith(f"\nHint: {hint} --help says more.")


def test_help_with_nothing_below_is_told_how_to_ask(shell) -> None:
    with pytest.raises(UsageError, match="Did you mean the line magic %ranks"):
        run(shell, "%%ranks 2 --help")


def test_one_percent_sign_runs_nothing_and_says_so(shell) -> None:
    with pytest.raises(LaunchError, match="begin a cell with %%ranks"):
        run(shell, "%ranks 2")
    assert not magic._worlds


@pytest.mark.parametrize("cell", ["%%ranks --help\n1 / 0", "%ranks --help"])
def test_help_is_shown_and_nothing_runs(shell, capsys, cell: str) -> None:
    run(shell, cell)
    out = capsys.readouterr().out
    assert "%%ranks [--only RANKS]" in out
    assert "new ranks, without variables" in out
    assert not magic._worlds


def test_more_ranks_than_gpus_are_new_ones_on_the_cpu(shell, capsys, monkeypatch) -> None:
    monkeypatch.setattr(backend, "has_nvidia_driver", lambda: True)
    monkeypatch.setattr(backend, "count_gpus", lambda: 2)
    assert magic._world(2, fresh=False).backend == "nccl"
    grown = magic._world(4, fresh=False)
    assert (grown.backend, grown.world_size) == ("gloo", 4)
    ended, why = capsys.readouterr().out.splitlines()
    assert ended == "Ended, and their variables are gone: ranks 0, 1."
    assert why == "4 ranks, 2 GPUs: running on the CPU with gloo."
    assert magic._world(3, fresh=False) is grown
