"""Frames survive the wire, damaged ones do not; the window's messages arrive once and in order."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from robot.link.protocol import MAX_PAYLOAD, WINDOW, Home, Message, Turns
from robot.link.wire import EMERGENCY_STOP, CobsReader, SendWindow, WireFrame, crc16, decode

BYTE = st.integers(0, 255)
FRAMES = st.builds(WireFrame, BYTE, BYTE, BYTE, BYTE, st.binary(max_size=MAX_PAYLOAD))
QUEUE_BYTES = 60


@given(st.lists(FRAMES, max_size=5), st.data())
def test_frames_are_found_however_the_stream_is_cut(frames, data):
    stream = b"".join(frame.encode() for frame in frames)
    reader = CobsReader()
    found = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += reader.feed(stream[:size])
        stream = stream[size:]
    assert found == frames
    assert (reader.frames, reader.damaged) == (len(frames), 0)


@given(FRAMES, st.data())
def test_a_flipped_bit_is_found(frame, data):
    block = bytearray(frame.encode()[:-1])
    block[data.draw(st.integers(0, len(block) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    assert 0 in block or decode(bytes(block)) is None


@given(FRAMES, st.binary(max_size=200))
def test_noise_before_a_frame_costs_at_most_one_block(frame, noise):
    assert frame in list(CobsReader().feed(noise + b"\0" + frame.encode()))


def test_frames_are_as_the_firmware_expects_them():
    """Check that the CRC has its published check value and the emergency stop contains no zero."""
    assert crc16(b"123456789") == 0x29B1
    assert decode(EMERGENCY_STOP.strip(b"\0")) == WireFrame(255, 255, 255, 0x7F)
    assert 0 not in EMERGENCY_STOP[1:-1]
    with pytest.raises(ValueError, match="fit"):
        WireFrame(1, 0, 0, 1, bytes(MAX_PAYLOAD + 1)).encode()


class LossyLine(RuleBasedStateMachine):
    """A sender, a model of the firmware's receiver, and a line that loses, repeats and delays."""

    def __init__(self) -> None:
        super().__init__()
        self.window = SendWindow()
        self.now = 0.0
        self.given: list[Message] = []
        self.to_firmware: list[tuple[int, int, Message]] = []
        self.to_host: list[tuple[int, int, int]] = []
        self.taken: list[Message] = []
        self.stops = 0
        self.queued = 0
        self.window.acknowledge(255, 0.0, QUEUE_BYTES)

    @rule(size=st.integers(0, 48), value=BYTE)
    def give(self, size: int, value: int) -> None:
        """Queue turns, or a command if ``size`` is 0."""
        self.given.append(Turns(bytes([value]) * size) if size else Home(value))
        self.window.put(self.given[-1])

    @rule(seconds=st.sampled_from([0.0, 0.01, 0.1, 1.0]))
    def pump(self, seconds: float) -> None:
        self.now += seconds
        sent = self.window.pump(self.now)
        self.to_firmware += [(seq, self.window.stops, message) for seq, message in sent]

    @precondition(lambda self: self.to_firmware)
    @rule(times=st.sampled_from([1, 1, 1, 0, 2]))
    def deliver(self, times: int) -> None:
        frame = self.to_firmware.pop(0)
        for _ in range(times):
            self._receive(*frame)

    def _receive(self, seq: int, stops: int, message: Message) -> None:
        room = len(message.turns) if isinstance(message, Turns) else 0
        is_next = seq == len(self.taken) % 256 and stops == self.stops
        if is_next and self.queued + room <= QUEUE_BYTES:
            self.taken.append(message)
            self.queued += room
        self._answer()

    def _answer(self) -> None:
        ack, free = (len(self.taken) - 1) % 256, QUEUE_BYTES - self.queued
        self.to_host.append((ack, self.stops, free))

    @rule()
    def stop(self) -> None:
        """Let the firmware see an emergency stop that the host has not sent."""
        self.stops += 1
        self.queued = 0
        self._answer()

    @precondition(lambda self: self.to_host)
    @rule(lost=st.booleans())
    def acknowledge(self, lost: bool) -> None:
        ack, stops, free = self.to_host.pop(0)
        if lost:
            return
        if stops != self.window.stops:
            self.window.restart(ack, stops)
            self.given = self.taken[:]
        self.window.acknowledge(ack, self.now, free)

    @rule()
    def play(self) -> None:
        """Let the firmware play some of its queue and report that, as for every heartbeat."""
        self.queued = max(0, self.queued - 10)
        self._answer()

    @invariant()
    def taken_once_and_in_order(self) -> None:
        assert self.taken == self.given[: len(self.taken)]
        assert self.window.credit >= 0

    def teardown(self) -> None:
        """Deliver everything over a good line in the end."""
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


def test_no_more_than_the_window_is_under_way_and_sequence_numbers_wrap():
    window = SendWindow()
    for number in range(1000):
        window.put(Home(number % 256))
    seen: list[tuple[int, Message]] = []
    while sent := window.pump(0.0):
        assert len(sent) == min(WINDOW, 1000 - len(seen))
        seen += sent
        window.acknowledge(sent[-1][0], 0.0)
    assert seen == [(number % 256, Home(number % 256)) for number in range(1000)]
    assert window.idle and window.resent == 0


def test_turns_wait_until_the_queue_has_room_for_all_of_them():
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
