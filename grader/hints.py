"""Hints in tiers: each request for the same step says a little more."""

from collections.abc import Mapping, Sequence

from grader.verdict import show


class Hints:
    """The hints of one exercise: a list of tiers, from a nudge to nearly the answer, per step."""

    def __init__(self, tiers: Mapping[int, Sequence[str]]) -> None:
        self._tiers = tiers
        self._shown: dict[int, int] = {}

    def show(self, step: int | None = None) -> None:
        """Print the next tier of this step's hints; after the last one, all of them again.

        Without a step, or with one that does not exist, print which there are.
        """
        if step is None or step not in self._tiers:
            asked = "" if step is None else f"Step {step!r} has no hints. "
            show(f"{asked}Hints are for steps {_name_steps(self._tiers)}: hint(1), for example.")
            return
        tiers = self._tiers[step]
        shown = self._shown.get(step, 0)
        if shown == len(tiers):
            show(f"Step {step}: these were all {len(tiers)} hints.")
            for number, text in enumerate(tiers, start=1):
                show(_line(number, len(tiers), text))
            return
        self._shown[step] = shown + 1
        show(f"Step {step}, {_line(shown + 1, len(tiers), tiers[shown])}")
        if shown + 1 < len(tiers):
            show("Ask again for more.")


def _line(number: int, num_tiers: int, text: str) -> str:
    return f"hint {number} of {num_tiers}: {text}"


def _name_steps(tiers: Mapping[int, Sequence[str]]) -> str:
    return ", ".join(map(str, sorted(tiers)))
