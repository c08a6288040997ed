"""What train.py prints."""

import re

TOLERANCE = 2e-4  # fp32, another order of sums


def losses(output: str) -> dict[int, float]:
    """Return the loss that was printed for each epoch."""
    return {int(e): float(loss) for e, loss in re.findall(r"epoch (\d+): loss ([\d.]+)", output)}
