"""The %%ranks cell: the same code on every rank, which keep their variables between cells."""

from __future__ import annotations

import argparse
import ast
import difflib
import functools
import re
import types
import warnings
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.error import UsageError
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from sandbox import backend, source
from sandbox.errors import LaunchError, RankError
from sandbox.failure import describe_others, name_ranks
from sandbox.limits import check_world_size
from sandbox.memory.history import Memory
from sandbox.pictures import after_error, selectors
from sandbox.pictures.cell_values import show_values
from sandbox.pictures.memory_chart import draw_memory
from sandbox.pictures.picture import bundle
from sandbox.ranks import namespace, warm
from sandbox.ranks.output import show
from sandbox.run import Run
from sandbox.world import World

DEFAULT_WORLD_SIZE = 4
SHARED_KINDS = types.FunctionType | functools._lru_cache_wrapper | type | types.ModuleType

_worlds: list[World] = []  # at most one: the ranks of this notebook's cells


def load(shell: Any) -> None:
    """Start the warm process in the background and register the magic."""
    warm.get()
    shell.register_magic_function(ranks, "line_cell", "ranks")
    shell.events.register("post_run_cell", after_error.show)


@magic_arguments()
@argument("world_size", nargs="?", type=int, help="number of ranks; as before, or 4")
@argument("--only", metavar="RANKS", help="run on these ranks alone: 0,2")
@argument("--fresh", action="store_true", help="new ranks, without variables")
@argument("--trace", action="store_true", help="draw the collectives that the cell issued")
@argument("--memory", action="store_true", help="draw how much memory each rank held")
@argument("--timeout", metavar="SECONDS", type=float, default=30.0, help="default: 30")
@argument("--help", "-h", action="store_true", help="show this")
def ranks(line: str, cell: str | None = None) -> None:
    """Run the cell on every rank, each with its own variables.

    `rank`, `world_size`, `device`, `torch` and `dist` are there from the start. The cell may use
    the functions, classes and imports of the notebook; its other variables stay apart.
    The value of the cell's last line is shown for each rank.
    """
    from IPython import get_ipython
    from IPython.display import display

    options = _parse_options(line)
    if options.help:
        show(_usage(ranks.parser.format_help()))
        return
    if cell is None:
        raise LaunchError(
            "%ranks, with one %, runs nothing. Hint: begin a cell with %%ranks, and put the code "
            "below; %ranks --help says more."
        )
    shell = get_ipython()
    filename = shell.compile.cache("\n" + cell, source.running_cell(shell.execution_count))
    cell = "\n" + shell.transform_cell(cell)  # line 1 is the one with the magic
    names = _names_in(cell, filename)
    shows_value = not DisplayHook.semicolon_at_end_of_expression(cell)
    world = _world(options.world_size, options.fresh)
    only = _parse_ranks(options.only, world.world_size)
    what = (cell, filename, _shared(names, shell.user_ns), shows_value)
    try:
        run = world.call(
            run_cell, what, {}, timeout_s=options.timeout, ranks=only, memory=options.memory
        )
    except RankError as error:
        error.message += _explain_name(error, shell.user_ns)
        error.args = (error.message,)
        raise
    show_values({rank: value for rank, value in enumerate(run.results) if value is not None})
    if options.trace:
        lines = trace(run) + (describe_peaks(run.memory) if options.memory else [])
        selectors.show(run, plain="\n".join(lines) or "no collectives")
    elif options.memory:
        picture = draw_memory(run.memory, run.world_size)
        display(bundle([picture], "\n".join(describe_peaks(run.memory))), raw=True)


def _parse_options(line: str) -> argparse.Namespace:
    try:
        return parse_argstring(ranks, line)
    except UsageError as error:
        usage = _usage(ranks.parser.format_usage())
        raise LaunchError(
            f"{error}. Usage:\n{usage}Hint: {_find_nearest(line)}%ranks --help says more."
        ) from None


def _find_nearest(line: str) -> str:
    """Return "did you mean --memory? " where an option there is not resembles one, else nothing."""
    options = [text for action in ranks.parser._actions for text in action.option_strings]
    for word in line.split():
        name = word.partition("=")[0]
        near = difflib.get_close_matches(name, options, n=1)
        if name.startswith("--") and near and name not in options:
            return f"did you mean {near[0]}? "
    return ""


def _usage(text: str) -> str:
    """Return IPython's text as plain text, of a magic for cells."""
    return text.removeprefix("::\n\n").replace("%ranks", "%%ranks", 1)


def run_cell(cell: str, filename: str, shared: dict[str, Any], shows_value: bool) -> Any:
    """Execute a cell in this rank's namespace; return what to show of its last expression."""
    import torch
    import torch.distributed as dist

    from sandbox.backend import device
    from sandbox.pictures.cell_value import capture

    namespace.give({"torch": torch, "dist": dist, "device": device()})
    namespace.give({"rank": dist.get_rank(), "world_size": dist.get_world_size()})
    namespace.give(shared)
    variables = namespace.variables()
    tree = ast.parse(cell, filename)
    last = tree.body[-1] if tree.body else None
    if not (shows_value and isinstance(last, ast.Expr)):
        exec(compile(tree, filename, "exec", dont_inherit=True), variables)
        return None
    first = ast.Module(tree.body[:-1], [])
    exec(compile(first, filename, "exec", dont_inherit=True), variables)
    expression = ast.Expression(last.value)
    value = eval(compile(expression, filename, "eval", dont_inherit=True), variables)
    return capture(value)


def trace(run: Run) -> list[str]:
    """Return one line per collective of the call, in the order of issue."""
    return [
        f"rank {e.rank}: {e.op.value} of {e.numel} × {e.dtype} ({e.nbytes} bytes)"
        for e in run.ledger
    ]


def describe_peaks(memory: Memory) -> list[str]:
    """Return one line for all ranks with the same peak: how much, of what, and on which line."""
    return describe_others({rank: memory.describe_peak(rank) for rank in memory.ranks})


def _world(world_size: int | None, fresh: bool) -> World:
    if _worlds and world_size is not None and not _has_gpus(_worlds[0], world_size):
        small = _worlds.pop()
        small.close()
        if not fresh:
            ended = list(range(small.world_size))
            show(f"Ended, and their variables are gone: {name_ranks(ended)}.\n")
    if not _worlds:
        _worlds.append(World(check_world_size(world_size or DEFAULT_WORLD_SIZE)))
    world = _worlds[0]
    if fresh:
        world.reset()
    if world_size is not None and world_size != world.world_size:
        ended = list(range(world_size, world.world_size))
        world.resize(world_size)
        if ended and not fresh:
            show(f"Ended, and their variables are gone: {name_ranks(ended)}.\n")
    return world


def _has_gpus(world: World, world_size: int) -> bool:
    """Whether so many ranks can have what those of `world` have: one on gloo needs none."""
    try:
        backend.choose(world.backend, world_size)
    except LaunchError:
        return False
    return True


def _parse_ranks(text: str | None, world_size: int) -> list[int] | None:
    if text is None:
        return None
    parts = text.split(",")
    if not all(re.fullmatch(r" *[0-9]+ *", part) and int(part) < world_size for part in parts):
        raise LaunchError(
            f"--only is {text!r}, expected ranks from 0 to {world_size - 1}, as in --only 0,2."
        )
    return sorted({int(part) for part in parts})


def _names_in(cell: str, filename: str) -> set[str]:
    """Return the names that a cell uses; a LaunchError says why it cannot run in ranks."""
    lines = cell.split("\n")
    try:
        with warnings.catch_warnings(action="ignore"):  # the ranks compile it again, and warn
            compile(cell, filename, "exec", dont_inherit=True)
    except SyntaxError as error:
        number = error.lineno or 1
        place = source.describe(f"{filename}:{number}")
        raise LaunchError(f"{error.msg} at {place}: {lines[number - 1].strip()}") from None
    names = [node for node in ast.walk(ast.parse(cell)) if isinstance(node, ast.Name)]
    for node in names:
        if node.id == "get_ipython":  # what IPython makes of !ls and %time
            place = source.describe(f"{filename}:{node.lineno}")
            raise LaunchError(
                f"IPython's commands do not run in ranks: {place}. Hint: put lines that begin with "
                "% or ! into a cell of their own, without %%ranks."
            )
    return {node.id for node in names}


def _explain_name(error: RankError, user_ns: dict[str, Any]) -> str:
    """Return a hint where the ranks lack a variable that the notebook has, else nothing."""
    match = re.fullmatch(r"name '(\w+)' is not defined.*", error.exc_message, re.DOTALL)
    if error.exc_type != "NameError" or match is None or match[1] not in user_ns:
        return ""
    return (
        f"\nHint: {match[1]} is a variable of the notebook, and of these only functions, classes "
        "and modules travel to the ranks. Set it in a %%ranks cell."
    )


def _shared(names: set[str], user_ns: dict[str, Any]) -> dict[str, Any]:
    """Return the notebook's functions, classes and modules that the cell names."""
    return {name: user_ns[name] for name in names if isinstance(user_ns.get(name), SHARED_KINDS)}
