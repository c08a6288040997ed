"""The course's commands: python -m grader notebooks | lab | learn | reset | grade | twin."""

import argparse
import sys
from collections.abc import Iterable

from grader.course import ROOT


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m grader", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    notebooks = commands.add_parser("notebooks", help="build the notebooks from their texts")
    notebooks.add_argument("--check", action="store_true", help="only say which are not up to date")
    commands.add_parser("lab", help="open the course in JupyterLab; other flags are passed on")
    commands.add_parser("learn", help="bring the learner's folder up to date")
    reset = commands.add_parser("reset", help="keep your copy of a notebook aside, get a fresh one")
    reset.add_argument("name", help="for example fsdp01")
    commands.add_parser("grade", help="grade sample submissions and show the results")
    twin = commands.add_parser("twin", help="compare an exercise's checks on gloo and on GPUs")
    twin.add_argument("name", help="for example fsdp01")
    options, flags = parser.parse_known_args(arguments)
    if flags and options.command != "lab":
        parser.error(f"unrecognized arguments: {' '.join(flags)}")
    try:
        return _run(options, flags)
    except (ValueError, OSError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)  # noqa: T201
        return 1


def _run(options: argparse.Namespace, flags: list[str]) -> int:
    # Each command imports what it needs: `learn` and `reset` are to answer at once.
    if options.command == "notebooks":
        return _notebooks(check=options.check)
    if options.command == "lab":
        from grader import lab

        _show(lab.prepare())
        lab.start(flags)
    if options.command == "grade":
        from grader.demonstration import grade_all_samples

        return grade_all_samples()
    if options.command == "twin":
        from grader.twin import compare_exercise

        report = compare_exercise(options.name)
        _show(report.lines)
        return int(bool(report.differences))
    from grader.learn import fill, reset

    _show(reset(options.name) if options.command == "reset" else fill())
    return 0


def _notebooks(*, check: bool) -> int:
    from grader.notebooks import stale_notebooks, write_notebooks

    if not check:
        _show(f"built {path.relative_to(ROOT)}" for path in write_notebooks())
        return 0
    stale = [page.notebook.relative_to(ROOT) for page in stale_notebooks()]
    _show(f"{path} is not what its text says; run `make notebooks`" for path in stale)
    return 1 if stale else 0


def _show(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, flush=True)  # noqa: T201 (a command may speak)


if __name__ == "__main__":
    sys.exit(main())
