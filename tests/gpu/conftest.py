"""What the tests on GPUs share. On one GPU they check one rank; on N, worlds of 1 to N ranks.

One rank on NCCL shows that doctor, launch, memory, profiler and the checks' launches of one rank
work on a GPU. Traffic between ranks, and with it most of the ledger, needs two GPUs or more.
"""

import gpu_programs
import pytest


@pytest.fixture(scope="session")
def num_gpus():
    return gpu_programs.count_or_stop()
