"""What can go wrong in a run, on purpose: ranks that die, leave, join or pause, links, disks.

    sandbox.launch(train, faults=[Kill(rank=2, at=Step(3)), SlowLink(bandwidth=1e6)])

Each fault happens at the same place whenever the same run is repeated. `at` is a `Step`, a
`Collective`, a `Save` or a `FileChange`, counted from 1 in each call. A fault whose moment never
comes is named after the run; those that happened are in `run.faults`. Faults are plain data; what
they do happens inside the ranks.
"""

from sandbox.faults.disk_full import DiskFull
from sandbox.faults.fault import Fault
from sandbox.faults.file_changes import record_file_changes
from sandbox.faults.injected import Injected
from sandbox.faults.join import Join
from sandbox.faults.kill import Kill
from sandbox.faults.lose import Lose
from sandbox.faults.moment import Collective, FileChange, Moment, Save, Step
from sandbox.faults.pause import Pause
from sandbox.faults.slow import Slow
from sandbox.faults.slow_link import SlowLink
from sandbox.faults.torn_write import TornWrite
from sandbox.faults.watcher import Change, ChangeKind

__all__ = [
    "Change",
    "ChangeKind",
    "Collective",
    "DiskFull",
    "Fault",
    "FileChange",
    "Injected",
    "Join",
    "Kill",
    "Lose",
    "Moment",
    "Pause",
    "Save",
    "Slow",
    "SlowLink",
    "Step",
    "TornWrite",
    "record_file_changes",
]
