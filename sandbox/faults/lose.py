"""Lose: a machine is gone at a moment, and with it a rank and its place."""

from __future__ import annotations

from dataclasses import dataclass

from sandbox.faults.kill import Kill


@dataclass(frozen=True, repr=False)
class Lose(Kill):
    """The process of `rank` is killed at `at`, and in an elastic launch there is one place less.

    In a plain launch it is the same as Kill.
    """
