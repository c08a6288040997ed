"""torch's operators, such as torch.ops.aten.mm.default: each process has its own, sent by name."""

from __future__ import annotations

import functools
import sys
from typing import Any


def is_operator(obj: Any) -> bool:
    """Whether `obj` is torch.ops, or something under it."""
    ops = sys.modules.get("torch._ops")
    if ops is None:
        return False
    kinds = (ops._Ops, ops._OpNamespace, ops.OpOverloadPacket, ops.OpOverload)
    return isinstance(obj, kinds)


def reduce(obj: Any) -> tuple:
    """Return what finds the same operator in another process."""
    ops = sys.modules["torch._ops"]
    if isinstance(obj, ops._Ops):
        return find, ()
    if isinstance(obj, ops._OpNamespace):
        return find, (obj.name,)
    if isinstance(obj, ops.OpOverloadPacket):
        return find, tuple(obj._qualified_op_name.split("::"))
    packet = obj.overloadpacket._qualified_op_name.split("::")
    return find, (*packet, obj._overloadname)


def find(*names: str) -> Any:
    """Return what `names` lead to from torch.ops: find("aten", "mm", "default")."""
    import torch

    return functools.reduce(getattr, names, torch.ops)
