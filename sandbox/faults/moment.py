"""Moments at which a fault happens: a step, a collective, a checkpoint save, a change of a file."""

from __future__ import annotations

import numbers
from dataclasses import dataclass

from sandbox.errors import LaunchError


@dataclass(frozen=True, repr=False)
class Moment:
    """The `number`-th time that a rank does something, counted from 1 in each call."""

    number: int

    def __post_init__(self) -> None:
        is_whole = isinstance(self.number, numbers.Integral) and not isinstance(self.number, bool)
        if not is_whole or self.number < 1:
            raise LaunchError(
                f"{type(self).__name__}({self.number!r}): expected a whole number from 1."
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.number})"


class Step(Moment):
    """An optimizer step: gradients are there, and the weights are about to change.

    Of several optimizers, the one that stepped most counts. Weights that are changed by hand,
    without a torch.optim.Optimizer, make no step.
    """


class Collective(Moment):
    """An operation of the rank, send and recv included: it is about to issue it.

    The making of groups does not count, so this is the place in `run.ledger.where(rank=…)`.
    """


class Save(Moment):
    """A checkpoint save: the rank has written some, not all, of its bytes.

    Counted are torch.distributed.checkpoint's save and async_save (in a thread), and torch.save to
    a file outside of these. A rank with nothing to write is at the end of its (empty) share.
    """


class FileChange(Moment):
    """A change of a file or folder: of a write half has happened, of any other nothing yet.

    Counted are, in the order in which the rank's function gets to them, and whether or not they
    then succeed: open (where it may create or truncate), write, close of a file open for writing,
    truncate, fsync, rename and replace, remove, mkdir, rmdir, link and symlink; also by pathlib,
    shutil, tempfile and torch. A write that a fault cuts is followed by one of the rest.
    `sandbox.faults.record_file_changes` tells how many there are. See files.py for what is not
    seen.
    """
