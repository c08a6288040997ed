"""What an exercise asks for: its functions, by step, and the names that its notebook defines."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Asked:
    """A function to be solved: the number of its step, 0 in the bonus, and its parameters."""

    step: int
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class Exercise:
    """`asked` holds every function to be solved by name; `given` what else the cells define."""

    asked: Mapping[str, Asked]
    given: frozenset[str]

    @property
    def names(self) -> frozenset[str]:
        """Return every name that cells of the notebook define and later cells use."""
        return self.given | self.asked.keys()
