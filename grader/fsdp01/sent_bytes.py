"""Steps 9 and 10: predict what a rank sends in one step, then measure it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import sandbox
from sandbox import toys
from sandbox.ledger import Ledger
from sandbox.run import Run

from grader import phases
from grader.check import Check
from grader.fsdp01.cases import SMALL, TIED, UNEVEN, new_mesh
from grader.mistakes import Mistake
from grader.shards import padded_numel
from grader.verdict import Failure

Shape = tuple[int, ...]
Predict = Callable[[list[Shape], list[list[Shape]], int, int], Mapping[str, float]]
Prepare = Callable[[nn.Module, DeviceMesh], nn.Module]

SHAPES: tuple[Shape, ...] = ((12, 4), (5, 24), (24,), (13, 3, 2), (2, 7), (1,))
CASES = ((1, UNEVEN), (2, TIED), (3, UNEVEN), (4, SMALL))  # (world_size, model)
