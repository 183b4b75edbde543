"""Frames survive the wire, damaged frames do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.link.protocol import MAX_PAYLOAD
from robot.link.wire import EMERGENCY_STOP, CobsReader, WireFrame, crc16, decode

BYTE = st.integers(0, 255)
FRAMES = st.builds(WireFrame, BYTE, BYTE, BYTE, BYTE, st.binary(max_size=MAX_PAYLOAD))


def test_crc_has_the_published_check_value() -> None:
    assert crc16(b"123456789") == 0x29B1


@given(st.lists(FRAMES, max_size=5), st.data())
def test_frames_are_found_however_the_stream_is_cut(
    frames: list[WireFrame], data: st.DataObject
) -> None:
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
def test_a_flipped_bit_is_found(frame: WireFrame, data: st.DataObject) -> None:
    block = bytearray(frame.encode()[:-1])
    block[data.draw(st.integers(0, len(block) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    assert 0 in block or decode(bytes(block)) is None


@given(FRAMES, st.binary(max_size=200))
def test_noise_before_a_frame_costs_at_most_one_block(frame: WireFrame, noise: bytes) -> None:
    reader = CobsReader()
    found = list(reader.feed(noise + b"\0" + frame.encode()))
    assert frame in found


def test_the_emergency_stop_is_a_frame_without_zeros_inside() -> None:
    frame = decode(EMERGENCY_STOP.strip(b"\0"))
    assert frame == WireFrame(255, 255, 255, 0x7F)
    assert 0 not in EMERGENCY_STOP[1:-1]


def test_a_payload_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="fit"):
        WireFrame(1, 0, 0, 1, bytes(MAX_PAYLOAD + 1)).encode()
