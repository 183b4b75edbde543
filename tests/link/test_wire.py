"""Frames survive the wire, damaged frames do not."""

from __future__ import annotations

import pytest
from cobs import cobs
from hypothesis import given
from hypothesis import strategies as st

from robot.link.protocol import MAX_PAYLOAD
from robot.link.wire import EMERGENCY_STOP, HEADER, CobsReader, WireFrame, crc16, decode

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


def test_long_noise_does_not_fill_the_memory() -> None:
    reader = CobsReader()
    for _ in range(100):
        list(reader.feed(b"x" * 1000))
    assert len(reader._block) < 2000


def test_the_emergency_stop_is_a_frame_without_zeros_inside() -> None:
    frame = decode(EMERGENCY_STOP.strip(b"\0"))
    assert frame == WireFrame(255, 255, 255, 0x7F)
    assert 0 not in EMERGENCY_STOP[1:-1]


def test_a_payload_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="fit"):
        WireFrame(1, 0, 0, 1, bytes(MAX_PAYLOAD + 1)).encode()


def block_of(body: bytes) -> bytes:
    return bytes(cobs.encode(body + crc16(body).to_bytes(2, "little")))


@pytest.mark.parametrize("size", range(MAX_PAYLOAD + 8))
def test_bodies_shorter_than_a_header_or_longer_than_a_payload_are_no_frames(size: int) -> None:
    body = bytes(range(1, size + 1))
    frame = decode(block_of(body))
    if HEADER <= size <= HEADER + MAX_PAYLOAD:
        assert frame == WireFrame(1, 2, 3, 4, body[HEADER:])
    else:
        assert frame is None


def test_damaged_and_whole_frames_are_counted_and_empty_blocks_are_not() -> None:
    reader = CobsReader()
    whole = WireFrame(1, 2, 3, 4, bytes(MAX_PAYLOAD)).encode()
    damaged = bytes([whole[0], whole[1] ^ 0x10]) + whole[2:]
    found = list(reader.feed(b"\0\0" + whole + damaged + b"\0" + whole + damaged + whole[:-1]))
    assert (len(found), reader.frames, reader.damaged) == (2, 2, 2)
    assert list(reader.feed(b"\0")) == found[:1]
    assert (reader.frames, reader.damaged) == (3, 2)


def test_the_longest_frame_arrives_byte_by_byte() -> None:
    reader = CobsReader()
    frame = WireFrame(1, 2, 3, 4, bytes(range(1, MAX_PAYLOAD + 1)))
    assert [each for byte in frame.encode() for each in reader.feed(bytes([byte]))] == [frame]
