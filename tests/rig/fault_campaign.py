"""The faults of the fault campaigns of whole robots, and the robots they happen to."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from robot.api.endpoints import RobotState
from robot.link.protocol import MESSAGES, Clear, Go, Hold, Release
from robot.link.wire import EMERGENCY_STOP, WireFrame
from robot.records.runs import RunStore, RunWriter
from robot.settings import RobotProfile, load_profile
from robot.settings.profile import for_cube
from robot.simulate.boards import nothing
from robot.twin.cube import scrambled
from tests.rig.profiles import changed
from tests.rig.simulated_run import FaultAction, SimulatedRun, TimedFault, Verdict
from tests.rig.simulated_time import DAMAGES, silence

QUARTER = 200
PLAY = 30
SENSORS = {"up": 2, "right": 3, "front": 5, "down": 6, "left": 7, "back": 8}
OTHER_PINS = {
    "left": {"step": 5, "direction": 4},
    "back": {"step": 3, "direction": 2},
    "left-jaw": {"pulse": 6},
    "back-jaw": {"pulse": 13},
}
"""Pins at the first board for the arms of Soltvvo's second one."""
OTHER_SENSORS = {"left": 16, "back": 17}
STOPPED_DEAD = frozenset({"lost-steps"})
"""The effect of an emergency stop on a motor at full speed, whose position is lost."""

EARLY_S = 0.2
"""A time early in the turns of a robot that solves in a second."""

FRAMES_AT_ONCE = 8
BETWEEN_S = 0.01


def with_sensors() -> RobotProfile:
    """Return the six-motor robot with an index sensor on every axis, for homing and after turns."""
    homing = {
        "direction": 1,
        "speed_steps_per_s": 400,
        "slow_speed_steps_per_s": 100,
        "backoff_steps": 20,
        "max_travel_steps": 300,
        "offset_steps": 10,
    }
    changes: dict[str, Any] = {}
    for name, pin in SENSORS.items():
        changes[f"actuators.{name}.pins.endstop"] = pin
        changes[f"actuators.{name}.homing"] = homing
        changes[f"actuators.{name}.turn_check"] = {"every_steps": QUARTER}
    return changed("six-motor", changes)


def without_sensors() -> RobotProfile:
    """Return Soltvvo on one board and without sensors: only the board knows the positions."""
    document = load_profile("soltvvo").model_dump(mode="json", exclude_unset=True)
    del document["boards"], document["link"]
    for name, actuator in document["actuators"].items():
        if actuator["kind"] == "stepper":
            del actuator["homing"], actuator["turn_check"], actuator["pins"]["endstop"]
        if actuator.pop("board", None) is not None:
            actuator["pins"] = OTHER_PINS[name]
    return RobotProfile.model_validate(document)


def with_a_pi() -> RobotProfile:
    """Return Soltvvo with its motors on one Arduino and its jaws on a PCA9685 of the Pi."""
    document = load_profile("soltvvo").model_dump(mode="json", exclude_unset=True)
    document["boards"] = {"pi": {"target": "linux", "port": "/run/cubist-board/port"}}
    channel = 0
    for name, actuator in document["actuators"].items():
        actuator.pop("board", None)
        if actuator["kind"] == "servo":
            actuator |= {"board": "pi", "pins": {"pulse": f"pca9685:{channel}"}}
            channel += 1
        elif name in OTHER_PINS:
            actuator["pins"] = OTHER_PINS[name] | {"endstop": OTHER_SENSORS[name]}
    return RobotProfile.model_validate(document)


def with_play() -> RobotProfile:
    """Return the six-motor robot with worn couplings and a profile that allows for them."""
    changes: dict[str, Any] = {}
    for name in SENSORS:
        changes[f"actuators.{name}.backlash_steps"] = PLAY
        changes[f"actuators.{name}.overshoot_steps"] = 6
        changes[f"simulation.actuators.{name}.play_steps"] = PLAY
    return changed("six-motor", changes)


KIN: dict[str, Callable[[], RobotProfile]] = {
    "sensors": with_sensors,
    "no-sensors": without_sensors,
    "with-a-pi": with_a_pi,
    "play": with_play,
    "crane-2": lambda: for_cube(load_profile("crane"), 2),
}
"""Robots that are not shipped."""


def simulated_run(profile: str, *faults: TimedFault, **options: Any) -> SimulatedRun:
    """Return a run of a shipped robot, or one of :data:`KIN`, with its cube scrambled (seed 1)."""
    chosen = KIN[profile]() if profile in KIN else load_profile(profile)
    return SimulatedRun(chosen, scrambled(chosen.cube.size, 1), faults=faults, **options)


def assert_solved(verdict: Verdict, excused: frozenset[str] = frozenset()) -> None:
    """Assert that the run ended solved, with nothing worse than ``excused``."""
    shown = (verdict.record.outcome, verdict.fault, verdict.faults, verdict.record.reason)
    assert {violation.kind for violation in verdict.violations} <= excused, shown
    # The board may have ended the plan while the line was dead.
    assert verdict.record.outcome in ("solved", "already-solved"), shown
    assert verdict.solved, shown
    assert verdict.state is RobotState.IDLE


def cut_the_power_of(name: str) -> FaultAction:
    """Return a short power cut of a board or a Pi's program, and of its USB adapter."""

    def cut(r: SimulatedRun) -> None:
        r.ports[name].unplug(attempts=2)
        r.boards[name].reset()

    return cut


def cut_all_power(r: SimulatedRun) -> None:
    """Cut all power, so that nothing remembers the positions."""
    r.port.unplug()
    r.board.reset()


def put_the_plug_back(r: SimulatedRun) -> None:
    r.loop.pass_time(5.0)
    r.port.plug()


def leave_the_record_open(r: SimulatedRun) -> None:
    """Leave the record open, as a daemon killed in the middle of its job does."""
    store = RunStore(Path(r.folder))
    record = store.load(store.ids()[-1])
    record.outcome = None
    RunWriter(store.directory_of(record.id), record).save()


def corrupted_emergency_stops(r: SimulatedRun) -> None:
    """Send one intact copy among several corrupted ones, behind a full line."""
    damaged = [EMERGENCY_STOP[:4], EMERGENCY_STOP[1:5], EMERGENCY_STOP.replace(b"\x7f", b"\x7e")]
    r.port.write(bytes(range(1, 256)) + b"".join(damaged) + EMERGENCY_STOP)


def jam_for_a_moment(r: SimulatedRun) -> None:
    r.robot.jam("front")

    def free_once_felt() -> None:
        if r.robot.steps_lost("front") >= 60:
            r.robot.mend()
        else:
            r.loop.call_later(0.001, free_once_felt)

    free_once_felt()


def spoil_the_line(damage: str, rate: float) -> FaultAction:
    """Return a fault that makes the line bad in both directions."""

    def spoil(r: SimulatedRun) -> None:
        r.port.outwards.damage = DAMAGES[damage](rate)
        r.port.inwards.damage = DAMAGES[damage](rate)

    return spoil


def lose_all_acknowledgements(r: SimulatedRun) -> None:
    r.port.inwards.damage = silence


def mend_the_line(r: SimulatedRun) -> None:
    r.port.inwards.damage = r.port.outwards.damage = nothing


def speak_for_an_old_session(r: SimulatedRun) -> None:
    """Deliver a killed program's frames late: every number of its sequence."""
    other = r.motion.link.session.number % 253 + 1
    for seq in range(256):
        for message in (Go, Hold, Release):
            r.port.write(WireFrame(other, seq, 0, message.TYPE).encode())


def flip_every_bit(r: SimulatedRun) -> None:
    """Send every kind of frame with each bit flipped, a few at a time among the host's own."""
    frames = _flipped_frames(r.motion.link.session.number)

    def send_some() -> None:
        some = b"".join(itertools.islice(frames, FRAMES_AT_ONCE))
        if some and r.port.plugged:
            r.port.write(some)
            r.loop.call_later(BETWEEN_S, send_some)

    send_some()


def _flipped_frames(session: int) -> Iterator[bytes]:
    for message in MESSAGES.values():
        block = WireFrame(session, 0, 0, message.TYPE, bytes(message.LAYOUT.size)).encode()
        for bit in range(8 * (len(block) - 1)):
            damaged = bytearray(block)
            damaged[bit // 8] ^= 1 << bit % 8
            yield bytes(damaged)


ACTIONS: dict[str, FaultAction] = {
    "reset": lambda r: r.board.reset(),
    "reset-second": lambda r: r.boards["second"].reset(),
    "hang": lambda r: r.board.hang(),
    "unplug": lambda r: r.port.unplug(attempts=2),
    "unplug-second": lambda r: r.ports["second"].unplug(attempts=2),
    "pull-the-plug-for-good": lambda r: r.port.unplug(),
    "put-the-plug-back": put_the_plug_back,
    **{f"power-cut-{name}": cut_the_power_of(name) for name in ("first", "second", "pi")},
    "power-cut": cut_all_power,
    "stop-the-host": lambda r: r.loop.pass_time(2.0),
    "press-stop": lambda r: r.motion.press_stop(),
    "emergency-stop-of-all": lambda r: r.motion.hit_emergency_stop(),
    "corrupted-emergency-stops": corrupted_emergency_stops,
    "jam": lambda r: r.robot.jam("front"),
    "jam-for-a-moment": jam_for_a_moment,
    "lose-steps": lambda r: r.robot.lose_steps("front", 30),
    "sensor-never-active": lambda r: r.robot.stick_end_stop("left", active=False),
    "sensor-always-active": lambda r: r.robot.stick_end_stop("left", active=True),
    "sensor-bounces": lambda r: r.robot.bounce_end_stop("left", 6),
    "mend-the-robot": lambda r: r.robot.mend(),
    "lose-all-acknowledgements": lose_all_acknowledgements,
    "mend-the-line": mend_the_line,
    # More commands than there are sequence numbers; none has an effect.
    "wrap-sequence-numbers": lambda r: r.motion.link.session.put([Clear()] * 300),
    "speak-for-an-old-session": speak_for_an_old_session,
    "flip-every-bit": flip_every_bit,
    **{
        f"{damage}-{rate:g}": spoil_the_line(damage, rate)
        for damage in DAMAGES
        for rate in (0.01, 0.05, 0.1, 0.2, 0.3)
    },
}
"""Faults and remedies by name."""
