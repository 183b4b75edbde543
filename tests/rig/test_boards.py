"""The rig's board: its witness reads pins as a robot would, and its links are deterministic."""

from __future__ import annotations

from tests.rig.boards import (
    LIMITS,
    PUSHER_DIRECTION,
    PUSHER_STEP,
    RECORD,
    Rig,
    Witness,
    program,
    rig_of,
    simulated,
)


def test_a_witness_counts_pulses_and_moves() -> None:
    witness = Witness(lambda answer: None)
    levels = [(10, 9, 1), (40, 9, 0), (50, PUSHER_DIRECTION, 1)]
    levels += [(60 + n, PUSHER_STEP, 1 - n % 2) for n in range(6)]
    levels += [(70, PUSHER_DIRECTION, 0), (71, PUSHER_STEP, 1)]
    for ticks, pin, level in levels:
        witness.feed(RECORD.pack(ticks, pin, level, 0))
    assert witness.pulses(9) == [(10, 30)]
    assert witness.moves() == [3, -1]
    assert witness.rises(PUSHER_STEP) == [60, 62, 64, 71]


def test_a_rig_homes_and_reports_from_time_zero() -> None:
    async def home(rig: Rig) -> None:
        link = await rig.homed_link("pusher")
        assert link.ledger.homed == {"pusher": 0}
        assert LIMITS.max_speed == 4000 and rig.loop.time() < 5

    with rig_of(program("cubist-firmware-host")) as rig:
        simulated(home)(rig=rig)
