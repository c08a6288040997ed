"""What a rank publishes about its collectives: plain tuples, read in another process.

    ("group", gid, ranks)                                       a group exists, or begins to
    ("new_group", ranks, site, place, time_s)                   called, by a member or not
    ("new_group_end", place, is_refused)                        returned, or raised
    ("issue", number, gid, seq, is_async, Call, site, time_s)   an operation is about to start
    ("wait", number, gid, seq, Waiting)                         a thread is blocked in it
    ("end", number, time_s, thread, since_s)                    completed; time_s None: given up
    ("withdraw", number, gid, seq)                              the backend refused the call
    ("unwaited", op, site)                                      asynchronous, and never waited for
    ("mark", name, time_s)                                      a moment that the program notes
    ("step", number, time_s)                                    an optimizer step has ended
    ("fault", number, rank, time_s, is_over)                    a fault of the call begins, or ends
    ("memory", "sample" or "peak", ...)                         see memory/sample.py

`number` counts the events of a rank; `seq` counts those of a group, None outside its order (send,
recv, and waits for a key of a store, which have no group). A rank publishes an issue before it
starts the operation: so whatever a rank has not published, it has not done. It publishes a wait
once it has waited for a moment: so the backend has accepted what the rank is known to wait in.
Of a GPU that waits, and not its rank, the wait comes before the start, and the end as the next sign
that the rank goes on: of what a thread waits for inside the driver there is no other.
A new_group's `place` is how often the default group was made, and torch's number of the call.
An end's `since_s` is when the thread began to wait, None where it is no waiter that tells.
Times are time.monotonic(), which the processes of one machine share.
"""

from __future__ import annotations

from typing import NamedTuple

NO_GROUP = ""  # the gid of waits for a store
# Longer lists of sizes are left out, and then not compared: a record must stay below 4096 bytes.
MAX_SIZES = 200

Sizes = int | tuple[int, ...] | None  # one for all members, one each, or nothing to compare


class Call(NamedTuple):
    """One call as issued, in numbers that other processes can compare."""

    op: str  # a value of ledger.Op
    shape: tuple[int, ...]
    numel: int  # of the whole tensor that the call is about
    dtype: str
    itemsize: int
    reduce_op: str | None = None
    root: int | None = None  # a global rank; of send and recv, the other one
    gives: Sizes = None  # elements for each member of the group
    takes: Sizes = None  # elements from each member
    tag: int | None = None
    key: str | None = None  # of a store


class Waiting(NamedTuple):
    """A blocked thread, and what may let it or its rank go on all the same."""

    thread: int
    others: tuple[int, ...] = ()  # threads of its rank that may still do something
    hears_signals: bool = False  # a handler of the learner's runs if another rank sends a signal
    checked_s: float | None = None  # no signal had come by then, nor the key of a store been set
    on_stream: bool = False  # the GPU waits, the thread itself only when it asks for a result


class Issue(NamedTuple):
    """The "issue" record, taken apart."""

    number: int
    gid: str
    seq: int | None
    is_async: bool
    call: Call
    site: str | None
    time_s: float
