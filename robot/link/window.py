"""Go-back-N, sender's side, without any input or output: what to send, and when to send it again.

The receiver handles frames strictly in order and acknowledges the last one handled; when an
acknowledgement is overdue everything unacknowledged is sent again. Turns also need
credit: free bytes of the microcontroller's queue, less what is under way to it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from robot.link.protocol import WINDOW, Message, Turns

RESEND_AFTER_S = 0.04
LONGEST_RESEND_S = 0.1
"""The line is nobody else's: patience grows only as far as a busy Pi may need."""


@dataclass(slots=True)
class Sent:
    """A message under way under a sequence number."""

    seq: int
    message: Message
    room: int
    """Bytes of the turn queue it will fill."""


class SendWindow:
    """The messages of one session in their order."""

    def __init__(self) -> None:
        self.sent = 0
        self.resent = 0
        self._waiting: deque[Message] = deque()
        self._under_way: deque[Sent] = deque()
        self._next_seq = 0
        self._free = 0
        self._last_progress = 0.0
        self._patience_s = RESEND_AFTER_S

    @property
    def idle(self) -> bool:
        """True when everything is acknowledged."""
        return not self._waiting and not self._under_way

    @property
    def credit(self) -> int:
        """Bytes of turns that may be sent now."""
        return self._free - sum(sent.room for sent in self._under_way)

    @property
    def handled(self) -> int:
        """Sequence number of the last message acknowledged."""
        first = self._under_way[0].seq if self._under_way else self._next_seq
        return (first - 1) % 256

    def put(self, message: Message) -> None:
        """Queue a message."""
        self._waiting.append(message)

    def discard(self) -> None:
        """Forget what was not sent yet."""
        self._waiting.clear()

    def acknowledge(self, ack: int, now: float, free: int | None = None) -> None:
        """Everything up to ``ack`` was handled; an ``ack`` of nothing under way is ignored."""
        count = (ack - self.handled) % 256
        if count > len(self._under_way):
            return
        for _ in range(count):
            self._under_way.popleft()
        if count:
            self._last_progress = now
            self._patience_s = RESEND_AFTER_S
        if free is not None:
            self._free = free

    def pump(self, now: float) -> list[tuple[int, Message]]:
        """Messages to send now with their sequence numbers; again, if they are overdue."""
        out: list[tuple[int, Message]] = []
        if self._under_way and now - self._last_progress >= self._patience_s:
            out += [(sent.seq, sent.message) for sent in self._under_way]
            self.resent += len(out)
            self._last_progress = now
            self._patience_s = min(2 * self._patience_s, LONGEST_RESEND_S)
        while self._waiting and len(self._under_way) < WINDOW and self._affordable():
            out.append(self._launch(now))
        return out

    def _affordable(self) -> bool:
        return _room(self._waiting[0]) <= self.credit

    def _launch(self, now: float) -> tuple[int, Message]:
        message = self._waiting.popleft()
        if not self._under_way:
            self._last_progress = now
        sent = Sent(self._next_seq, message, _room(message))
        self._under_way.append(sent)
        self._next_seq = (self._next_seq + 1) % 256
        self.sent += 1
        return sent.seq, message


def _room(message: Message) -> int:
    return len(message.turns) if isinstance(message, Turns) else 0
