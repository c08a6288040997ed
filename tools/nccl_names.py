"""Compare NCCL's documented variables with ours: python tools/nccl_names.py env.rst

The page is docs/userguide/source/env.rst of github.com/NVIDIA/nccl. Ours are in
sandbox/nccl_variables.py; what is new there gets a line, with its values, by hand.
"""

import re
import sys
from pathlib import Path

from sandbox.nccl_variables import VARIABLES


def compare(page: str) -> tuple[list[str], list[str]]:
    """Return the names that only the page has, and those that only we have."""
    theirs = set(re.findall(r"^(NCCL_\w+)\b.*\n-{5,}$", page, re.MULTILINE))
    return sorted(theirs - VARIABLES.keys()), sorted(VARIABLES.keys() - theirs)


if __name__ == "__main__":
    new, gone = compare(Path(sys.argv[1]).read_text("utf-8"))
    print("new:", ", ".join(new) or "none")  # noqa: T201 (a command may speak)
    print("gone:", ", ".join(gone) or "none")  # noqa: T201
