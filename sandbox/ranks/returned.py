"""What a rank returned, unpickled here."""

from __future__ import annotations

import pickle
from typing import Any

from sandbox import failure
from sandbox.errors import LaunchError
from sandbox.ranks import process
from sandbox.ranks.member import Member, State


def load_result(member: Member) -> Any:
    """Unpickle what a rank returned; None where it did not return."""
    if member.state is not State.RETURNED:
        return None
    with process.interrupts_held():  # so a KeyboardInterrupt can only be the value's own
        try:
            return pickle.loads(member.outcome)
        except BaseException as error:
            raise LaunchError(
                f"the return value of rank {member.rank} cannot be loaded here: "
                f"{failure.one_line(error)}. Hint: return plain tensors and numbers."
            ) from None


def load_if_possible(member: Member) -> Any:
    """Unpickle what a rank returned; None where it did not, or it cannot be loaded here."""
    try:
        return load_result(member)
    except LaunchError:
        return None
