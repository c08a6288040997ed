"""What a rank returned, unpickled here."""

from __future__ import annotations

import pickle
from typing import Any

from sandbox.errors import LaunchError
from sandbox.member import Member, State


def load_result(member: Member) -> Any:
    """Unpickle what a rank returned; None where it did not return."""
    if member.state is not State.RETURNED:
        return None
    try:
        return pickle.loads(member.outcome)
    except Exception as error:
        raise LaunchError(
            f"the return value of rank {member.rank} cannot be loaded here: {error}. "
            "Hint: return plain tensors and numbers."
        ) from error


def load_if_possible(member: Member) -> Any:
    """Unpickle what a rank returned; None where it did not, or it cannot be loaded here."""
    try:
        return load_result(member)
    except LaunchError:
        return None
