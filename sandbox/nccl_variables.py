"""The variables that NCCL documents: each in one line, with the values that it accepts.

From NCCL 2.32, docs/userguide/source/env.rst, at commit 0186f08 of github.com/NVIDIA/nccl; threads
per block as in src/graph/tuning.cc, service level and traffic class as in src/transport/net_ib.cc.
`python tools/nccl_names.py env.rst` says what a newer page adds and drops.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

VERSION = "2.32"
RANGE = r"(-?\d+)\.\.(\d*)"
FUNCTIONS = ("broadcast", "reduce", "allgather", "reducescatter", "allreduce")
# Name, values, meaning. Values: whole numbers from 0 to 31 (0..31) or from 1 on (1..), one of some
# words (0|1), a list of them (list: A|B, or ^ and those to leave out), such lists for each function
# (lists: A|B), a number, text, or "gone" for what NCCL no longer reads.
_TABLE = """
NCCL_ALGO  lists: Ring|Tree|CollnetChain|CollnetDirect|NVLS|NVLSTree|PAT  algorithms it may use
NCCL_ALLOC_P2P_NET_LL_BUFFERS  0|1  buffers for small send and recv between machines
NCCL_BUFFSIZE  1..  bytes of a buffer between two GPUs; 4194304 by default, a power of 2 is best
NCCL_CGA_CLUSTER_SIZE  0..8  thread blocks of a cluster, on capability 9.0 and later
NCCL_CHECKS_DISABLE  0|1  no checks of arguments; deprecated in 2.2.12
NCCL_CHECK_MODE  DEFAULT|DEBUG_LOCAL|DEBUG_GLOBAL  whether the arguments of each call are checked
NCCL_CHECK_POINTERS  0|1  old way to say NCCL_CHECK_MODE=DEBUG_LOCAL
NCCL_COLLNET_ENABLE  0|1  let a plug-in's network switches reduce
NCCL_COLLNET_NODE_THRESHOLD  1..  machines from which on switches reduce
NCCL_COMM_BLOCKING  0|1  whether calls may block
NCCL_CONF_FILE  text  a file of such settings; no ~ in its path
NCCL_CROSS_NIC  0|1|2  may a ring use different network cards on different machines
NCCL_CTA_POLICY  text  DEFAULT, EFFICIENCY, ZERO, or several with | between them
NCCL_CUMEM_ENABLE  0|1  allocate GPU memory by cuMem functions
NCCL_CUMEM_HOST_ENABLE  0|1  allocate host memory by cuMem functions
NCCL_DEBUG  VERSION|WARN|ATTN|INFO|TRACE  what it prints; INFO shows rings, trees and settings
NCCL_DEBUG_FILE  text  where it prints to; %h is the host, %p the process; no ~ in its path
NCCL_DEBUG_LEVELS  list: VERSION|WARN|ATTN|INFO|ABORT|TRACE|ALL  printed beside NCCL_DEBUG's
NCCL_DEBUG_SUBSYS  list: INIT|COLL|P2P|SHM|NET|GRAPH|TUNING|ENV|ALLOC|ALLOC_HOST|CALL|PROXY|NVLS|\
BOOTSTRAP|REG|PROFILE|RAS|DESTROY|ALL  of what NCCL_DEBUG=INFO speaks
NCCL_DEBUG_TIMESTAMP_FORMAT  text  as strftime takes it; underscores are spaces
NCCL_DEBUG_TIMESTAMP_LEVELS  list: VERSION|WARN|ATTN|INFO|ABORT|TRACE|ALL  lines with a time
NCCL_DMABUF_ENABLE  0|1  let network cards reach GPU memory by Linux's dma-buf
NCCL_ENV_PLUGIN  text  plug-in for the environment, or none
NCCL_GDRCOPY_ENABLE  0|1  let the processor reach GPU memory that NCCL keeps its state in
NCCL_GDRCOPY_FIFO_ENABLE  0|1  the queue of work in such memory
NCCL_GDRCOPY_FLUSH_ENABLE  0|1  make network writes visible by a read of such memory
NCCL_GDRCOPY_SYNC_ENABLE  0|1  the network's counters in such memory
NCCL_GIN_PLUGIN  text  plug-ins for networking that GPUs initiate, or none
NCCL_GRAPH_MIXING_SUPPORT  0|1  calls in flight from CUDA graphs and outside of them at once
NCCL_GRAPH_REGISTER  0|1  register buffers of calls that a CUDA graph captures
NCCL_GRAPH_STREAM_ORDERING  0|1  order kernels across CUDA graphs; 0 leaves that to you
NCCL_IB_ADAPTIVE_ROUTING  0|1  InfiniBand: packets may take different ways
NCCL_IB_ADDR_FAMILY  AF_INET|AF_INET6  RoCE: which addresses to choose from
NCCL_IB_ADDR_RANGE  text  RoCE: which addresses to choose from, as 10.0.0.0/8
NCCL_IB_AR_THRESHOLD  0..  InfiniBand: bytes from which on adaptive routing is used
NCCL_IB_CUDA_SUPPORT  gone  since 2.4 it is NCCL_NET_GDR_LEVEL
NCCL_IB_DISABLE  0|1  1: no InfiniBand or RoCE; plain sockets instead
NCCL_IB_ECE_ENABLE  0|1  InfiniBand, RoCE: enhanced connection establishment
NCCL_IB_EVENT_BASED_LB  0|1  InfiniBand: share by the links' present speed
NCCL_IB_FIFO_TC  -1..255  InfiniBand: traffic class of control messages
NCCL_IB_GID_INDEX  -1..  RoCE: which of the card's addresses (show_gids); -1 chooses by itself
NCCL_IB_HCA  text  InfiniBand: which cards, as =mlx5_0:1,mlx5_1:1
NCCL_IB_MERGE_NICS  0|1  InfiniBand: the two ports of a card as one
NCCL_IB_OOO_RQ  0|1  InfiniBand: receive out of order
NCCL_IB_PCI_RELAXED_ORDERING  0|1|2  InfiniBand: relaxed ordering on PCI; 2 if available
NCCL_IB_PKEY  0..  InfiniBand: partition key, by its place in the table
NCCL_IB_PKEY_VALUE  text  InfiniBand: partition key, by its value, as 0x8111
NCCL_IB_QPS_PER_CONNECTION  1..128  InfiniBand: queue pairs between two ranks
NCCL_IB_RAIL_POLICY  NONE|CX9|CX9:FLIP|CX9:ALT|CX9:BLOCK  InfiniBand: which ports form a rail
NCCL_IB_RETRY_CNT  0..7  InfiniBand: how often to try again; times NCCL_IB_TIMEOUT until an error
NCCL_IB_RETURN_ASYNC_EVENTS  0|1  InfiniBand: stop at a fatal event of the card
NCCL_IB_ROCE_VERSION_NUM  1|2  RoCE: which version's addresses to choose from
NCCL_IB_SL  -1..15  InfiniBand: service level
NCCL_IB_SPLIT_DATA_ON_QPS  0|1  InfiniBand: each message over all queue pairs, or one after another
NCCL_IB_TC  -1..255  InfiniBand, RoCE: traffic class; its upper six bits are the DSCP
NCCL_IB_TIMEOUT  0..31  InfiniBand: waits 4.096 µs × 2^value; 20 is 4.3 s, 22 is 17 s, 0 for ever
NCCL_IGNORE_COLLNET_MISMATCH  0|1  go on where ranks have unequal switches to reduce in
NCCL_IGNORE_CPU_AFFINITY  0|1  take the processors near the GPU, whatever the job was given
NCCL_IGNORE_NET_MISMATCH  0|1  go on where ranks have unequal network cards
NCCL_IPC_USE_ABSTRACT_SOCKET  0|1  0 lets containers with networks of their own share GPU memory
NCCL_LAUNCH_MODE  PARALLEL|GROUP  how kernels are launched; GROUP is deprecated in 2.9
NCCL_LAUNCH_ORDER_IMPLICIT  0|1  order operations of different communicators as the program does
NCCL_LAUNCH_RACE_FATAL  0|1  an error where threads race to launch
NCCL_LEGACY_CUDA_REGISTER  0|1  register buffers of cudaMalloc, which may hang
NCCL_LL_THRESHOLD  gone  since 2.5 NCCL chooses by itself; NCCL_PROTO limits the choice
NCCL_LOCAL_REGISTER  0|1  register buffers when ncclCommRegister is called
NCCL_MAX_CTAS  1..64  most thread blocks, so channels, of an operation; fewer leave more to yours
NCCL_MAX_NCHANNELS  1..  old name of NCCL_MAX_CTAS, deprecated in 2.17
NCCL_MEM_SYNC_DOMAIN  0|1  keep NCCL's memory barriers apart from other kernels'
NCCL_MIN_CTAS  1..64  fewest thread blocks, so channels, of an operation; more take them from yours
NCCL_MIN_NCHANNELS  1..32  old name of NCCL_MIN_CTAS, deprecated in 2.17
NCCL_MNNVL_CLIQUE_ID  text  NVLink between machines: which of them belong together
NCCL_MNNVL_ENABLE  0|1|2  NVLink between machines; 2 if available
NCCL_MNNVL_UUID  text  NVLink between machines: the domain's number
NCCL_MULTI_RANK_GPU_ENABLE  0|1  several ranks on one GPU; experimental, may hang
NCCL_NET  text  which network: IB, Socket, or a plug-in's
NCCL_NETDEVS_POLICY  text  network cards per GPU: ALL, or MAX:2
NCCL_NET_GDR_C2C  0|1  network cards reach GPU memory over a chip-to-chip link
NCCL_NET_GDR_LEVEL  LOC|PIX|PXB|PHB|SYS|0..  how far a network card may be to reach GPU memory
NCCL_NET_GDR_READ  0|1  network cards read GPU memory when sending
NCCL_NET_MERGE_POLICY  ALL|RAIL  which network cards become one
NCCL_NET_PLUGIN  text  plug-in for a network, or none
NCCL_NET_SHARED_BUFFERS  0|1  one pool of buffers for all ranks elsewhere
NCCL_NET_SHARED_COMMS  0|1  fewer connections between machines
NCCL_NSOCKS_PERTHREAD  1..64  sockets of each thread of NCCL_SOCKET_NTHREADS; 64 in all at most
NCCL_NTHREADS  64|128|256|512  threads of a block on the GPU; no threads of the processor
NCCL_NVB_DISABLE  0|1  1: no way over another GPU's NVLink
NCCL_NVLS_ENABLE  0|1|2  let NVSwitches reduce (NVLink SHARP)
NCCL_OOB_NET_ENABLE  0|1  form communicators over NCCL's network
NCCL_OOB_NET_IFNAME  text  over which interfaces of it
NCCL_P2P_DIRECT_DISABLE  0|1  1: no direct access to your buffers within a process
NCCL_P2P_DISABLE  0|1  1: GPUs do not reach each other's memory; over the host's instead
NCCL_P2P_LEVEL  LOC|NVL|PIX|PXB|PHB|SYS|0..  how far apart GPUs may be to reach each other's memory
NCCL_P2P_LL_THRESHOLD  0..  most bytes of send and recv for the LL protocol
NCCL_P2P_NET_CHUNKSIZE  1..  bytes of a piece of send and recv between machines
NCCL_P2P_PXN_LEVEL  0|1|2  send and recv over another GPU's network card
NCCL_PROFILER_PLUGIN  text  plug-in for a profiler, or none
NCCL_PROTO  lists: LL|LL128|Simple  protocols; LL128 corrupts data where it is not supported
NCCL_PSK  text  a key, 32 characters or more, to encrypt traffic between hosts
NCCL_PXN_C2C  0|1  another GPU's network card, reached over a chip-to-chip link
NCCL_PXN_DISABLE  0|1  1: no way over another GPU's network card
NCCL_RAS_ADDR  text  where to ask for the job's health, as localhost:28028
NCCL_RAS_ENABLE  0|1  whether the job's health can be asked for
NCCL_RAS_TIMEOUT_FACTOR  number  multiplies the times that this waits
NCCL_RMA_EAGER_INIT  0|1  set up signals when the communicator is made
NCCL_RMA_PLUGIN  text  plug-ins for one-sided operations, or none
NCCL_RUNTIME_CONNECT  0|1  0: connect ranks at the start, not at the first operation
NCCL_SET_STACK_SIZE  0|1  one stack size for all kernels
NCCL_SET_THREAD_NAME  0|1  name NCCL's threads
NCCL_SHM_DISABLE  0|1  1: not over shared memory of the host; over the network instead
NCCL_SINGLE_RING_THRESHOLD  gone  since 2.3 NCCL chooses by itself
NCCL_SOCKET_FAMILY  AF_INET|AF_INET6  IPv4 or IPv6
NCCL_SOCKET_IFNAME  text  which interfaces, as =eth0 or ^docker; launch sets it to loopback
NCCL_SOCKET_MAGIC  text  a number that keeps jobs on the same hosts apart
NCCL_SOCKET_NTHREADS  1..16  threads of the processor for each connection; for plain sockets alone
NCCL_SOCKET_POLL_TIMEOUT_MSEC  0..  ms to sleep between tries, at the start
NCCL_SOCKET_RETRY_CNT  1..  how often to try to connect
NCCL_SOCKET_RETRY_SLEEP_MSEC  1..  ms before the second try; longer before each further one
NCCL_SYM_GIN_KERNELS_ENABLE  0|1  kernels for symmetric memory that use the network
NCCL_TOPO_DUMP_FILE  text  where to write how GPUs and cards are connected
NCCL_TOPO_FILE  text  how GPUs and cards of one host are connected, as XML
NCCL_TREE_THRESHOLD  gone  since 2.5 NCCL chooses by itself; NCCL_ALGO limits the choice
NCCL_TUNER_PLUGIN  text  plug-in for the choice of algorithms, or none
NCCL_UID_STAGGER_RATE  1..  messages a second to the first rank, at the start
NCCL_UID_STAGGER_THRESHOLD  1..  ranks from which on they take turns
NCCL_WIN_ENABLE  0|1  register windows of memory
"""


@dataclass(frozen=True)
class Variable:
    """One variable: the values that NCCL accepts (see the table), and what it does."""

    name: str
    values: str
    meaning: str

    def __str__(self) -> str:
        return f"{self.name}: {self.meaning}. Values: {self.expected}."

    @property
    def expected(self) -> str:
        """Return the values in words: "64, 128, 256 or 512", "a whole number from 0 to 31"."""
        kind, _, words = self.values.rpartition(": ")
        parts = [_spoken(word) for word in words.split("|")]
        if kind:
            return f"a list of {', '.join(parts)}, or ^ and those to leave out"
        return " or ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))

    def refusal(self, value: str) -> str:
        """Return why NCCL would not take `value`; "" if it would."""
        if self.values == "gone":
            return f"NCCL ignores it: {self.meaning}"
        if self._accepts(value):
            return ""
        return f"expected {self.expected}, came {value!r} ({self.meaning})"

    def _accepts(self, value: str) -> bool:
        if self.values == "text":
            return bool(value)
        if self.values == "number":
            return is_positive(value)
        kind, _, words = self.values.rpartition(": ")
        if kind == "lists":
            entries = [entry.rpartition(":") for entry in value.lower().split(";")]
            functions = [function for function, _, _ in entries]
            named = functions if functions[0] else functions[1:]
            return set(named) <= set(FUNCTIONS) and all(in_list(e[2], words) for e in entries)
        if kind == "list":
            return in_list(value, words)
        return any(in_range(value, word) for word in words.split("|"))


def _spoken(word: str) -> str:
    ends = re.fullmatch(RANGE, word)
    if ends is None:
        return {"gone": "none", "number": "a number above 0"}.get(word, word)
    return f"a whole number from {ends[1]}" + (f" to {ends[2]}" if ends[2] else "")


def in_list(value: str, words: str) -> bool:
    """Whether `value` is a list of some of the `words`, or ^ and those to leave out."""
    return set(value.lower().removeprefix("^").split(",")) <= set(words.lower().split("|"))


def in_range(value: str, word: str) -> bool:
    """Whether `value` is the word, in any case, or in the range that it is ("1..16", "1..")."""
    ends = re.fullmatch(RANGE, word)
    if ends is None:
        return value.lower() == word.lower()
    return bool(re.fullmatch(r"-?\d+", value)) and (
        int(ends[1]) <= int(value) <= (int(ends[2]) if ends[2] else math.inf)
    )


def is_positive(value: str) -> bool:
    """Whether `value` is a number above 0."""
    try:
        return 0 < float(value) < math.inf
    except ValueError:
        return False


VARIABLES = {
    name: Variable(name, values, meaning)
    for name, values, meaning in (line.split("  ") for line in _TABLE.strip().splitlines())
}
