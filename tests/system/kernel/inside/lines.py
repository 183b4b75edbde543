"""A slow stepper and its switch at a GPIO chip's lines, through the kernel's character device."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from robot.link import EndstopHoming, Link, StepperSetup
from robot.link.actuators import TurnCheckSetup
from robot.motion.schedule import MotionProfile
from robot.motion.stepper import StepperLimits, stepper_move
from tests.rig.boards import in_turn
from tests.system.kernel.inside.devices import (
    Chip,
    Note,
    configured,
    fault_of,
    following,
    link_to,
    notes_in,
    noting,
    plugged_in,
    running,
)

LABEL = "pinctrl-bcm2711"
"""Label of the chip behind the header of a Raspberry Pi 4."""
STEP, DIRECTION, ENABLE, SENSOR = 27, 17, 22, 4
"""Pins of a CUBOTone."""
VALUE = "gpio/gpio_value"
Change = Sequence[float]
"""Time in seconds, pin and value of a line that was set."""
CHANGE = re.compile(r"^(\d+) (set|get) ([01])$")
FASTEST = 1000
STEPS = 2000
SETTLE_US = 200_000
SENSED_LATE = 4
"""Steps beyond the switch at the end of homing: it is read three times, and reported late."""
BUSY = ("while :; do :; done", "while :; do find /usr/share/doc >/dev/null; done")
MOTOR = StepperSetup(
    "turner",
    step_pin=STEP,
    direction_pin=DIRECTION,
    enable_pin=ENABLE,
    limits=StepperLimits(start_speed=FASTEST, max_speed=FASTEST, acceleration=10_000),
    homing=EndstopHoming(
        pin=SENSOR,
        direction=-1,
        speed=200,
        slow_speed=50,
        backoff_steps=20,
        max_travel_steps=400,
        edge_position=0,
    ),
)
INDEXED = replace(MOTOR, homing=None, check=TurnCheckSetup(SENSOR, every_steps=100))


@dataclass
class Shaft:
    """The motor's shaft: it counts steps at the lines and moves a switch."""

    chip: Chip
    at: int
    every: int | None = None
    """Steps between closures of an index switch (None: an end switch, closed at 0 and below)."""
    jammed: bool = False
    direction: int = 0

    def __post_init__(self) -> None:
        self._set_switch()

    def hear(self, note: Note) -> None:
        pin, value = change_of(note, self.chip)
        if pin == DIRECTION:
            self.direction = value
        elif pin == STEP and value and not self.jammed:
            self.at += 1 if self.direction else -1
            self._set_switch()

    def _set_switch(self) -> None:
        closed = self.at <= 0 if self.every is None else self.at % self.every == 0
        self.chip.close_contact(SENSOR, closed)


def change_of(note: Note, chip: Chip) -> tuple[int, int]:
    """Return pin and value of a line that a program has set, or pin -1 for any other event."""
    found = CHANGE.match(note.text)
    if found is None or found[2] != "set":
        return -1, 0
    return int(found[1]) - chip.base, int(found[3])


def lines_in(notes: Sequence[Note], chip: Chip) -> list[Change]:
    """Return the values that programs set, in order."""
    changes = ((note.time_s, *change_of(note, chip)) for note in notes)
    return [change for change in changes if change[1] >= 0]


def times_us(changes: Sequence[Change], pin: int, level: int) -> list[float]:
    """Return the times at which a line went to a level."""
    return [time_s * 1e6 for time_s, at, value in changes if (at, value) == (pin, level)]


def intervals_us(changes: Sequence[Change], pin: int) -> list[float]:
    """Return the intervals between rising edges of a line."""
    return [after - before for before, after in pairwise(times_us(changes, pin, 1))]


def errors_us(changes: Sequence[Change], pin: int, planned_us: float) -> list[float]:
    """Return the intervals' absolute differences from the plan in ascending order."""
    return sorted(abs(interval - planned_us) for interval in intervals_us(changes, pin))


def quantile(ordered: Sequence[float], part: float) -> float:
    """Return the value that this fraction of the values does not exceed."""
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


@contextmanager
def busy(programs: Sequence[str] = BUSY) -> Iterator[None]:
    """Run other programs that use all the processor time they get."""
    running = [subprocess.Popen(["sh", "-c", work]) for work in programs]
    try:
        yield
    finally:
        for program in running:
            program.kill()
            program.wait()


async def home(chip: Chip) -> dict[str, Any]:
    """Home the motor; return the position of the shaft and the state of the lines."""
    shaft = Shaft(chip, at=60)
    link = link_to([MOTOR])
    await configured(link)
    before = chip.level(ENABLE)
    with following(shaft.hear, VALUE):
        await link.home()
        await asyncio.sleep(0.1)
        stands = shaft.at
    found = {
        "stands": stands,
        "told": link.ledger.homed["turner"],
        "enable": [before, chip.level(ENABLE)],
        "sensor": sorted(await link.active_sensors()),
    }
    await link.close()
    return found


async def to_and_fro(link: Link, chip: Chip) -> dict[str, Any]:
    """Move forwards and back at top speed; return the plan and the timed changes of the lines."""
    ways = [
        stepper_move("turner", at, by, MOTOR.limits) for at, by in ((0, STEPS), (STEPS, -STEPS))
    ]
    plan = in_turn(*ways)
    with noting(VALUE) as noted:
        done = await link.run(plan)
        text = await asyncio.to_thread(noted)
    return {
        "planned": plan.duration_us,
        "executed": done.executed_us,
        "events": done.events,
        "changes": text,
    }


async def steps(chip: Chip) -> dict[str, Any]:
    """Step alone and beside other programs; then switch the driver's power off."""
    link = link_to([replace(MOTOR, homing=None)])
    await configured(link)
    await link.home()
    found: dict[str, Any] = {"alone": await to_and_fro(link, chip)}
    with busy():
        found["busy"] = await to_and_fro(link, chip)
    await link.release()
    found["enable"] = chip.level(ENABLE)
    await link.close()
    for load in ("alone", "busy"):
        found[load]["changes"] = lines_in(notes_in(found[load]["changes"]), chip)
    return found


def settled(way: MotionProfile) -> MotionProfile:
    """Extend a motion so that the shaft hears of the last step and moves the switch."""
    return replace(way, duration_us=way.duration_us + SETTLE_US)


async def index(chip: Chip) -> dict[str, Any]:
    """Check the index sensor after a turn: first without, then with a jam."""
    slow = StepperLimits(start_speed=100, max_speed=200, acceleration=1000)
    shaft = Shaft(chip, at=0, every=100)
    link = link_to([replace(INDEXED, limits=slow)])
    await configured(link)
    with following(shaft.hear, VALUE):
        await link.home()
        turn, back = (
            settled(stepper_move("turner", at, by, slow)) for at, by in ((0, 100), (100, -100))
        )
        told = [await fault_of(link.run(in_turn(turn)))]
        shaft.jammed = True
        told.append(await fault_of(link.run(in_turn(back))))
        shaft.jammed = False
        await link.configure(anew=True)
        await link.home()
        told.append(await fault_of(link.run(in_turn(turn))))
    await link.close()
    return {"told": told, "at": shaft.at}


async def taken(chip: Chip) -> str:
    """Configure the board while another program holds a line of the motor."""
    link = link_to([MOTOR])
    with chip.taken(STEP):
        told = await fault_of(configured(link))
    await link.close()
    return told


async def unplugged(chip: Chip) -> list[str]:
    """Remove the chip in the middle of a turn, and plug it in again."""
    link = link_to([replace(MOTOR, homing=None)])
    await link.open()
    await link.configure(anew=True)
    await link.home()
    turn = in_turn(stepper_move("turner", 0, STEPS, MOTOR.limits))
    run = asyncio.create_task(fault_of(link.run(turn)))
    await asyncio.sleep(0.5)
    chip.unplug()
    told = [await run]
    chip.plug_in()
    return told


def main() -> None:
    with plugged_in("other"), plugged_in("robot", LABEL) as chip:
        with running() as complaints:
            found: dict[str, Any] = {
                "chip": chip.name,
                "taken": asyncio.run(taken(chip)),
                "home": asyncio.run(home(chip)),
                "steps": asyncio.run(steps(chip)),
                "index": asyncio.run(index(chip)),
                "unplugged": asyncio.run(unplugged(chip)),
            }
        found["complaints"] = complaints
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
