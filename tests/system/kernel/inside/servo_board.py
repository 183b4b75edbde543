"""A PCA9685 with the eight servos of a robot, through the kernel's own driver.

The chip behind it is the kernel's ``i2c-stub``, which keeps the values written to its registers.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robot.link import Link, ServoSetup
from robot.machine.board_configuration import actuator_setups
from robot.motion.servo import servo_slew
from robot.settings import load_profile
from robot.settings.board_table import FIRST_CHANNEL, FRAME_US
from tests.system.kernel.inside.devices import (
    MODE1,
    PRESCALE,
    Note,
    ServoBoard,
    at_once,
    configured,
    fault_of,
    link_to,
    notes_in,
    noting,
    running,
)

PROFILE = load_profile("rubpyx")
SERVOS = [setup for setup in actuator_setups(PROFILE) if isinstance(setup, ServoSetup)]
EXPORT = Path(__file__).resolve().parents[4] / "systemd/board-channels"
GROUP = "60"
TRAVEL_US = 400_000
WRITTEN = re.compile(r"a=0*40 .* c=([0-9a-f]+) I2C_BLOCK_DATA l=2 \[01-([0-9a-f]{2})\]")


def export() -> list[str]:
    """Export channels as the service does before it starts; return its complaints."""
    done = subprocess.run(
        [EXPORT],
        env=os.environ | {"CUBIST_BOARD_GROUP": GROUP},
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stderr.splitlines()


def ends(servo: ServoSetup) -> tuple[int, int]:
    """Return the shortest and the longest pulse of the servo's positions in the profile."""
    positions = PROFILE.actuators[servo.name].positions_us
    return min(positions.values()), max(positions.values())


async def to_ends(link: Link) -> dict[str, Any]:
    """Move all servos at once to their shortest pulse, to their longest, and back to the start."""
    planned, executed, events = [], [], []
    for stage in ((lambda s: (s.start_us, ends(s)[0])), ends, (lambda s: (ends(s)[1], s.start_us))):
        plan = at_once(*(servo_slew(s.name, *stage(s), TRAVEL_US, FRAME_US) for s in SERVOS))
        done = await link.run(plan)
        planned.append(plan.duration_us)
        executed.append(done.executed_us)
        events += done.events
    return {"planned": planned, "executed": executed, "events": events}


def bytes_written(notes: Sequence[Note]) -> list[tuple[int, int]]:
    """Return the registers and values written, in order."""
    found = (WRITTEN.search(note.text) for note in notes if note.event == "smbus_write")
    return [(int(note[1], 16), int(note[2], 16)) for note in found if note is not None]


async def interrupted(link: Link, board: ServoBoard, timed_fault: str) -> dict[str, Any]:
    """Disturb the chip in the middle of a slew, then repair it and go on."""
    servo = link.actuators[0]
    assert isinstance(servo, ServoSetup)
    away = at_once(servo_slew(servo.name, servo.start_us, ends(servo)[1], 2_000_000, FRAME_US))
    run = asyncio.create_task(fault_of(link.run(away)))
    await asyncio.sleep(0.5)
    getattr(board, timed_fault)()
    told = await run
    if timed_fault == "unplug":
        board.plug_in()
        export()
    await link.configure()
    await link.home()
    await link.run(at_once(servo_slew(servo.name, servo.start_us, ends(servo)[1], 400_000)))
    return {"fault": told, "counts": board.counts([servo.pin - FIRST_CHANNEL])}


async def scenario(board: ServoBoard) -> dict[str, Any]:
    channels = [servo.pin - FIRST_CHANNEL for servo in SERVOS]
    link = link_to(SERVOS)
    await configured(link)
    await link.home()
    found: dict[str, Any] = {
        "servos": [(s.pin - FIRST_CHANNEL, s.start_us, *ends(s)) for s in SERVOS],
        "at_start": board.counts(channels),
        "mode": board.read(MODE1),
        "prescale": board.read(PRESCALE),
    }
    with noting("smbus/smbus_write", "pwm/pwm_apply") as noted:
        found["plan"] = await to_ends(link)
        text = await asyncio.to_thread(noted)
    notes = notes_in(text)
    found["bytes"] = bytes_written(notes)
    found["applied"] = [note.text for note in notes if note.event == "pwm_apply"]
    found["unplugged"] = await interrupted(link, board, "unplug")
    await link.home()
    found["without_power"] = await interrupted(link, board, "lose_power")
    await link.release()
    await asyncio.sleep(0.1)
    found["released"] = board.counts(channels)
    await link.close()
    return found


def main() -> None:
    board = ServoBoard()
    exported = [export(), export()]
    with running() as complaints:
        found = asyncio.run(scenario(board))
    found |= {"exported": exported, "complaints": complaints}
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
