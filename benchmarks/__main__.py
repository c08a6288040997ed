"""Run all benchmarks, or those named: python -m benchmarks [NAME ...]"""

from __future__ import annotations

import sys
import tempfile

import sandbox
from benchmarks import hangs, launching, libraries, programs, recording, report

BENCHMARKS = {
    function.__name__: function
    for function in (
        launching.import_time,
        launching.fresh_ranks,
        launching.live_world,
        launching.many_ranks,
        libraries.training_steps,
        recording.recording,
        hangs.hangs,
    )
}


def main(names: list[str]) -> int:
    """Run the named benchmarks; return 1 where a goal is missed."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}; expected some of {', '.join(BENCHMARKS)}")
    sandbox.launch(programs.train_zero, 1, 1, timeout_s=120)  # imports what comes later
    results: list[report.Result] = []
    with tempfile.TemporaryDirectory() as tmp:
        for name in names or BENCHMARKS:
            results += BENCHMARKS[name](tmp)
    report.show(results)
    return int(not all(result.meets_goal for result in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
