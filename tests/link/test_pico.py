"""The image for a Raspberry Pi Pico, run by an emulator of the chip."""

from __future__ import annotations

from itertools import pairwise

from robot.motion.servo import servo_slew
from robot.motion.stepper import stepper_move
from tests.rig.boards import LIMITS, PUSHER_STEP, SERVO_PINS, Rig, in_turn

HOLDER = SERVO_PINS[0]
PULSE_TICKS = 4


async def test_a_pico_steps_and_makes_pulses(pico: Rig) -> None:
    link = await pico.homed_link("holder", "pusher")
    moves = stepper_move("pusher", 0, 50, LIMITS), servo_slew("holder", 1500, 1000, 100_000, 0)
    plan = in_turn(*moves)
    execution = await link.run(plan)
    assert (execution.executed_us, execution.events) == (plan.duration_us, ())
    assert pico.pins.moves() == [50]
    edges = [ticks for ticks, pin, _ in pico.pins.records if pin == PUSHER_STEP]
    lengths = {fall - rise for rise, fall in zip(edges[::2], edges[1::2], strict=True)}
    assert lengths == {PULSE_TICKS}
    pulses = pico.pins.pulses(HOLDER)
    assert {later - rise for (rise, _), (later, _) in pairwise(pulses)} == {40_000}
    assert pulses[-1][1] == 2000
