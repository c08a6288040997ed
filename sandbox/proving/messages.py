"""Point-to-point: which send meets which recv, and which still lack the other.

Within a channel (group, destination, tag), the sends of one source meet the recvs from it in order.
Once a recv takes from any source, who meets whom is not known from outside, so the channel is only
counted: a recv lacks a send for certain if no more were issued than recvs have ended, and the other
way round. (gloo sends nothing before the recv is there, so a send that lacks one blocks.)
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from sandbox.event import Op
from sandbox.observing.record import Issue
from sandbox.proving.operation import Key, Operation

Place = tuple[int, int]  # a rank and its number of the call


class OpenRecv(Operation):
    """A recv beside others that take from any source.

    It lacks a send for certain only once no member can have sent what is not known yet: one of
    those others may have taken that, and left this one its own.
    """

    @property
    def helpers(self) -> set[int]:
        """Every other member, though only its source can end it."""
        return set(self.members) - set(self.issued)


@dataclass
class Message:
    """One call of send or recv, and the one it has met."""

    rank: int
    issue: Issue
    members: tuple[int, ...]
    partner: Message | None = None

    @property
    def is_send(self) -> bool:
        """Whether it sends."""
        return self.issue.call.op == Op.SEND.value

    @property
    def source(self) -> int | None:
        """The rank that sends; None for a recv from any."""
        return self.rank if self.is_send else self.issue.call.root

    def as_operation(self, kind: type[Operation] = Operation) -> Operation:
        """Return the call as something that the rank does together with those that it lacks."""
        root = self.issue.call.root
        others = [root] if root is not None else [r for r in self.members if r != self.rank]
        ranks = (self.rank, *others)
        return kind("", None, self.members, ranks, {self.rank: self.issue})


@dataclass
class Channel:
    """The messages to one rank, in one group, with one tag."""

    # By source and whether they are sends: those that have met no other yet.
    unmet: dict[tuple[int | None, bool], deque[Message]] = field(
        default_factory=lambda: defaultdict(deque)
    )
    running: dict[Place, Message] = field(default_factory=dict)  # without an end
    num_issued: list[int] = field(default_factory=lambda: [0, 0])  # recvs, sends
    num_ended: list[int] = field(default_factory=lambda: [0, 0])
    takes_from_any: bool = False

    def add(self, message: Message) -> None:
        """Take in a call; one that it meets becomes its partner."""
        self.running[message.rank, message.issue.number] = message
        self.num_issued[message.is_send] += 1
        if message.source is None:
            self.takes_from_any = True
        if self.takes_from_any:
            return
        waiting = self.unmet[message.source, not message.is_send]
        if waiting:
            message.partner = waiting.popleft()
            message.partner.partner = message
        else:
            self.unmet[message.source, message.is_send].append(message)

    def remove(self, message: Message) -> None:
        """Forget a call that the backend refused: its partner lacks one again."""
        self.running.pop((message.rank, message.issue.number), None)
        self.num_issued[message.is_send] -= 1
        partner = message.partner
        if partner is not None:
            partner.partner = None
            self.unmet[partner.source, partner.is_send].appendleft(partner)
        elif not self.takes_from_any:
            self.unmet[message.source, message.is_send].remove(message)

    def lacking(self) -> Iterator[Message]:
        """Yield the calls that certainly lack another."""
        if not self.takes_from_any:
            for messages in self.unmet.values():
                yield from messages
            return
        for message in self.running.values():
            if self.num_issued[not message.is_send] <= self.num_ended[message.is_send]:
                yield message


class Messages:
    """All sends and recvs of a world."""

    def __init__(self) -> None:
        self._channels: dict[tuple[str, int, int], Channel] = defaultdict(Channel)
        self._running: dict[Place, tuple[Message, Channel | None]] = {}

    def issue(self, rank: int, issue: Issue, members: tuple[int, ...]) -> Message:
        """Take in a call, and return it; its `partner` is the one that it meets."""
        message = Message(rank, issue, members)
        call = issue.call
        channel = None
        # A block of several on NCCL has no tag; a message to oneself lacks nobody else.
        if call.tag is not None and call.root != rank:
            target = call.root if message.is_send else rank
            assert target is not None
            channel = self._channels[issue.gid, target, call.tag]
            channel.add(message)
        self._running[rank, issue.number] = message, channel
        return message

    def end(self, rank: int, number: int) -> None:
        """Note that a call is complete."""
        message, channel = self._running.pop((rank, number), (None, None))
        if message is not None and channel is not None:
            del channel.running[rank, number]
            channel.num_ended[message.is_send] += 1

    def withdraw(self, rank: int, number: int) -> Message | None:
        """Forget a call that the backend refused, and return it."""
        message, channel = self._running.pop((rank, number), (None, None))
        if message is not None and channel is not None:
            channel.remove(message)
        return message

    @property
    def has_running(self) -> bool:
        """Whether a call is without an end."""
        return bool(self._running)

    def lacking(self) -> dict[Key, Operation]:
        """Return the calls that lack another, by rank and number."""
        return {
            (message.rank, message.issue.number): message.as_operation(
                OpenRecv if channel.takes_from_any and not message.is_send else Operation
            )
            for channel in self._channels.values()
            for message in channel.lacking()
        }
