"""Go-back-N against a model of the receiver, over a line that loses, repeats and delays."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from robot.link.protocol import WINDOW, Home, Message, Turns
from robot.link.wire import LONGEST_RESEND_S, RESEND_AFTER_S, SendWindow

QUEUE_BYTES = 60


class LossyLine(RuleBasedStateMachine):
    """Sender under test, model of the firmware's receiver, and a line between them."""

    def __init__(self) -> None:
        super().__init__()
        self.window = SendWindow()
        self.now = 0.0
        self.given: list[Message] = []
        self.to_firmware: list[tuple[int, Message]] = []
        self.to_host: list[tuple[int, int]] = []
        self.taken: list[Message] = []
        self.queued = 0
        self.window.acknowledge(255, 0.0, QUEUE_BYTES)

    @rule(value=st.integers(0, 255))
    def give_command(self, value: int) -> None:
        self._give(Home(value))

    @rule(size=st.integers(1, 48), value=st.integers(0, 255))
    def give_turns(self, size: int, value: int) -> None:
        self._give(Turns(bytes([value]) * size))

    def _give(self, message: Message) -> None:
        self.given.append(message)
        self.window.put(message)

    @rule(seconds=st.sampled_from([0.0, 0.01, 0.1, 1.0]))
    def pump(self, seconds: float) -> None:
        self.now += seconds
        self.to_firmware += self.window.pump(self.now)

    @precondition(lambda self: self.to_firmware)
    @rule(fate=st.sampled_from(["arrives", "arrives", "arrives", "lost", "twice"]))
    def deliver(self, fate: str) -> None:
        seq, message = self.to_firmware.pop(0)
        for _ in range({"arrives": 1, "lost": 0, "twice": 2}[fate]):
            self._receive(seq, message)

    def _receive(self, seq: int, message: Message) -> None:
        room = len(message.turns) if isinstance(message, Turns) else 0
        if seq == len(self.taken) % 256 and self.queued + room <= QUEUE_BYTES:
            self.taken.append(message)
            self.queued += room
        self.to_host.append(((len(self.taken) - 1) % 256, QUEUE_BYTES - self.queued))

    @precondition(lambda self: self.to_host)
    @rule(lost=st.booleans())
    def acknowledge(self, lost: bool) -> None:
        ack, free = self.to_host.pop(0)
        if not lost:
            self.window.acknowledge(ack, self.now, free)

    @rule()
    def play(self) -> None:
        """The firmware plays some of its queue and says so, as it does for every heartbeat."""
        self.queued = max(0, self.queued - 10)
        self.to_host.append(((len(self.taken) - 1) % 256, QUEUE_BYTES - self.queued))

    @invariant()
    def taken_once_and_in_order(self) -> None:
        assert self.taken == self.given[: len(self.taken)]

    @invariant()
    def never_more_than_the_window(self) -> None:
        assert len(self.window._under_way) <= WINDOW

    @invariant()
    def credit_is_never_overdrawn(self) -> None:
        assert self.window.credit >= 0

    def teardown(self) -> None:
        """On a good line everything arrives in the end."""
        for _ in range(40 * (len(self.given) + 1)):
            self.pump(0.6)
            while self.to_firmware:
                self._receive(*self.to_firmware.pop(0))
            self.play()
            while self.to_host:
                self.acknowledge(lost=False)
        assert self.taken == self.given
        assert self.window.idle


TestLossyLine = LossyLine.TestCase
TestLossyLine.settings = settings(max_examples=60, stateful_step_count=60)


def test_sequence_numbers_wrap() -> None:
    window = SendWindow()
    for number in range(1000):
        window.put(Home(number % 256))
        [(seq, message)] = window.pump(0.0)
        assert (seq, message) == (number % 256, Home(number % 256))
        window.acknowledge(seq, 0.0)
    assert window.idle and window.resent == 0


def test_patience_doubles_up_to_its_limit() -> None:
    window = SendWindow()
    window.put(Home(1))
    assert window.pump(5.0) == [(0, Home(1))]
    now = 5.0
    for pause in (RESEND_AFTER_S, 2 * RESEND_AFTER_S, LONGEST_RESEND_S, LONGEST_RESEND_S):
        assert window.pump(now + 0.99 * pause) == []
        now += 1.001 * pause
        assert window.pump(now) == [(0, Home(1))]
    assert (window.sent, window.resent) == (1, 4)
    window.acknowledge(0, now)
    window.put(Home(2))
    assert window.pump(now) == [(1, Home(2))]
    assert window.pump(now + 1.001 * RESEND_AFTER_S) == [(1, Home(2))]


def test_turns_wait_until_the_queue_has_room_for_all_of_them() -> None:
    window = SendWindow()
    window.acknowledge(255, 0.0, 10)
    for message in (Turns(bytes(4)), Turns(bytes(6)), Turns(bytes(1)), Home(1)):
        window.put(message)
    assert window.pump(0.0) == [(0, Turns(bytes(4))), (1, Turns(bytes(6)))]
    assert window.credit == 0
    window.acknowledge(1, 0.0)
    assert (window.handled, window.credit) == (1, 10)
    window.acknowledge(1, 0.0, 0)
    assert window.pump(0.0) == [], "commands keep their place behind turns"
    window.acknowledge(1, 0.0, 1)
    assert window.pump(0.0) == [(2, Turns(bytes(1))), (3, Home(1))]
