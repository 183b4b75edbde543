"""A robot with TMC2209 on the board's UART: homing against stops, and drivers that fail."""

from __future__ import annotations

import pytest

from robot.machine.assembly import Machine
from robot.settings import RobotProfile, load_profile
from robot.simulate.fault_injection import INJECTIONS, BoardInScene, Scene
from robot.text.faults import FAULTS, RobotError
from robot.twin.cube import scrambled
from robot.twin.studio import Studio
from tests.rig.boards import is_fault
from tests.rig.profiles import changed
from tests.rig.simulated_run import SimulatedRun, TimedFault

PROFILE = load_profile("four-arm-skr-pico")
MOTORS = ("right", "left", "front", "back")
"""Motors whose rest positions are 0."""
SQUARE_STEPS = 12
"""Three degrees of a quarter turn's 400 steps."""


FIRMWARE = pytest.mark.parametrize(
    "firmware", ["host", pytest.param("rp2040", marks=[pytest.mark.long, pytest.mark.timeout(600)])]
)
"""Firmware built for this computer, and the chip's own image in an emulator."""


def solving(firmware: str, *faults: TimedFault) -> SimulatedRun:
    return SimulatedRun(PROFILE, scrambled(3, 1), firmware=firmware, faults=faults)


def inject(name: str, subject: str = "") -> TimedFault:
    def happen(run: SimulatedRun) -> None:
        boards = {"first": BoardInScene(lambda: None, None)}
        INJECTIONS[name](Scene(run.robot, Studio(run.robot), boards), subject)

    return TimedFault(happen)


@pytest.mark.parametrize(
    ("friction", "times"),
    [(0.2, 1), *(pytest.param(one, 50, marks=pytest.mark.long) for one in (0.05, 0.2, 0.4))],
)
def test_homing_finds_the_stop_without_a_switch_at_any_load(friction, times):
    """Home from positions where a hand left the motors, and check where they end."""
    loads = {f"simulation.actuators.{name}": {"friction": friction} for name in MOTORS}
    with SimulatedRun(changed("four-arm-skr-pico", loads), scrambled(3, 1)) as run:

        def work(machine: Machine, _: RobotProfile) -> None:
            for number in range(times):
                machine.motion.home()
                at = [run.robot.position(name) for name in MOTORS]
                assert max(map(abs, at)) <= SQUARE_STEPS, f"homing {number}: {at}"

        run.calibrate(work)
        assert not run.robot.violations


def test_a_jam_is_not_taken_for_the_stop():
    with SimulatedRun(PROFILE, scrambled(3, 1)) as run:
        run.robot.jam("front")
        with pytest.raises(RobotError, check=is_fault("home-blocked", "front")):
            run.calibrate(lambda machine, _: machine.motion.home())


@pytest.mark.long
def test_the_driver_that_has_failed_is_shown():
    with SimulatedRun(PROFILE, scrambled(3, 1)) as run:

        def work(machine: Machine, _: RobotProfile) -> None:
            machine.motion.home()
            assert all(driver.is_ready for driver in machine.motion.drivers())
            run.robot.drivers["left"].silent = True
            with pytest.raises(RobotError, match="does not answer"):
                machine.motion.home()
            unready = [one.actuator for one in machine.motion.drivers() if not one.is_ready]
            assert unready == ["left"]

        run.calibrate(work)


@pytest.mark.parametrize(
    ("name", "subject", "code"),
    [
        ("undervoltage", "", "driver-voltage"),
        pytest.param("driver-hot", "left", "driver-hot", marks=pytest.mark.long),
        pytest.param("driver-ground-a", "back", "driver-ground-a", marks=pytest.mark.long),
        pytest.param("driver-supply-b", "back", "driver-supply-b", marks=pytest.mark.long),
        pytest.param("driver-silent", "left", "driver-silent", marks=pytest.mark.long),
    ],
)
@FIRMWARE
def test_a_driver_that_fails_in_a_turn_ends_the_job_by_its_name(firmware, name, subject, code):
    """Check that the other motors finish their turns, and nothing moves until it is repaired."""
    with solving(firmware, inject(name, subject)) as run:
        verdict = run.solve()
        assert (verdict.fault, verdict.violations) == (code, ())
        assert set(verdict.faults) == {code}
        assert FAULTS[code].remedy
        run.loop.pass_time(0.5)
        before = [run.robot.position(name) for name in MOTORS]
        run.loop.pass_time(1.0)
        assert [run.robot.position(name) for name in MOTORS] == before and not run.robot.moving
        for driver in run.robot.drivers.values():
            driver.mend()
        again = run.solve()
    assert (again.solved, again.fault, again.violations) == (True, None, ())


@pytest.mark.long
@FIRMWARE
def test_a_driver_that_lost_its_settings_gets_them_again(firmware):
    with solving(firmware, inject("driver-reset", "right")) as run:
        verdict = run.solve()
    assert verdict.solved
    assert verdict.faults == ["driver-reset"]


@pytest.mark.long
@FIRMWARE
@pytest.mark.parametrize("name", ["driver-open-a", "driver-open-b"])
def test_a_coil_that_is_not_connected_is_found_while_its_motor_homes(firmware, name):
    """Home slowly: in fast motion a driver reports open loads that do not exist."""
    with solving(firmware) as run:

        def work(machine: Machine, _: RobotProfile) -> None:
            inject(name, "left").action(run)
            with pytest.raises(RobotError, check=is_fault(name, "left")):
                machine.motion.home()

        run.calibrate(work)
        run.loop.pass_time(1.0)
        assert not run.robot.violations and not run.robot.moving
