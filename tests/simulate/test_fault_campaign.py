"""The fault campaign, judged by the simulated robot: nothing unsafe ever happens.

The daemon names the fault, and after the remedy the same cube is solved by looking at it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from robot.api.endpoints import RobotState
from robot.settings import RobotProfile, load_profile
from robot.twin.cube import scrambled
from tests.rig.fault_campaign import (
    ACTIONS,
    EARLY_S,
    STOPPED_DEAD,
    assert_solved,
    leave_the_record_open,
    simulated_run,
    with_sensors,
)
from tests.rig.simulated_run import SimulatedRun, TimedFault, Verdict
from tests.rig.simulated_time import DAMAGES

SCANNING, HOMING = RobotState.SCANNING, RobotState.HOMING
HALF_OPEN = frozenset({"turn-while-jaws-move", "cube-hits-jaws"})
"""Violations by jaws that stand half open without anybody's knowledge."""
HALF_TURNED = frozenset({"layer-not-square"})
"""Violation when the lid releases a half turned layer, because its motion was forgotten."""
IN_THE_DARK = STOPPED_DEAD | {"jaws-collide"}
"""Violations by the other board against a stopped arm, until the fault is known."""


@dataclass(frozen=True)
class Case:
    """A fault of a robot at a moment, and its report.

    ``action`` and ``mend``, the remedy before the next job, are names in :data:`ACTIONS`.
    ``faults`` are those that the job names; ``part`` is the subject of the first. ``excused``:
    unavoidable violations.
    """

    profile: str
    action: str
    faults: tuple[str, ...] = ()
    after_s: float = EARLY_S
    stage: RobotState = RobotState.TURNING
    firmware: str = "host"
    part: str = ""
    mend: str = "mend-the-robot"
    excused: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.profile}-{self.action}-{self.after_s:g}-{self.firmware}"

    def run(self) -> SimulatedRun:
        """Return the robot to which it happens."""
        fault = TimedFault(ACTIONS[self.action], self.stage, self.after_s)
        return simulated_run(self.profile, fault, firmware=self.firmware)


def long(*cases: Case) -> Iterator[Any]:
    """Yield cases for the long campaigns."""
    for case in cases:
        yield pytest.param(case, marks=pytest.mark.long)


def moments(
    every_s: float, everyday: Iterable[int], profile: str, *named: Any, count: int = 12, **more: Any
) -> Iterator[Any]:
    """Yield cases at ``count`` moments of the turns; all but a few are for the long campaigns."""
    for number in range(1, count + 1):
        case = Case(profile, *named, after_s=round(number * every_s, 2), **more)
        yield from [case] if number in everyday else long(case)


SECOND = {"part": "board second", "excused": IN_THE_DARK}
RESET, LOST, MISSED = ("reset",), ("link-lost",), ("not-in-place",)


@pytest.mark.parametrize(
    "case",
    [
        Case("sensors", "stop-the-host"),
        Case("sensors", "unplug", LOST),
        *long(
            Case("sensors", "reset", RESET),
            *(
                Case(profile, action, named, 3.0, stage)
                for profile in ("cubotino", "two-arm")
                for action, named in (("reset", RESET), ("unplug", LOST), ("stop-the-host", ()))
                for stage in (SCANNING, RobotState.TURNING)
            ),
        ),
        # The real program on the chip.
        pytest.param(Case("sensors", "reset", RESET, firmware="avr"), marks=pytest.mark.quick),
        Case("sensors", "hang", ("hung",), firmware="avr"),
        *long(
            Case("sensors", "stop-the-host", firmware="avr"),
            Case("sensors", "unplug", LOST, firmware="avr"),
            Case("sensors", "jam-for-a-moment", MISSED, firmware="avr"),
        ),
        # Turns are missed and repeated.
        Case("sensors", "jam-for-a-moment", MISSED),
        Case("sensors", "lose-steps", MISSED),
        Case("sensors", "sensor-bounces", (), 0.0, HOMING),
        # Parts go home from wherever they were left.
        *moments(0.4, [1], "four-arm", "unplug", LOST),
        *moments(1.3, [], "two-arm", "unplug", LOST),
        *moments(0.37, [], "crane-2", "unplug", LOST, count=24),
        # A layer that a power cut left half turned is squared first.
        *moments(0.4, [9], "cubotino", "power-cut-first", LOST, count=59),
        # Damage on the line makes no turn and costs none.
        Case("sensors", "wrap-sequence-numbers"),
        Case("sensors", "speak-for-an-old-session"),
        Case("cubotino", "flip-every-bit"),
        Case("six-motor", "flip-0.05", (), 0.0),
        *long(
            *(Case("six-motor", f"{one}-{at}", (), 0.0) for one in DAMAGES for at in (0.01, 0.05))
        ),
        # The other board goes on for a moment; it knows the positions of its own arms.
        *moments(0.1, [], "soltvvo", "unplug", LOST, part="board first"),
        *moments(0.1, [], "soltvvo", "unplug-second", LOST, part="board second"),
        *moments(0.1, [5], "soltvvo", "reset-second", RESET, **SECOND),
        *moments(0.1, [], "soltvvo", "power-cut-second", LOST, **SECOND),
        *long(
            Case("with-a-pi", "power-cut-pi", LOST, 0.5, excused=IN_THE_DARK),
            Case("with-a-pi", "unplug", LOST, 0.5, excused=IN_THE_DARK),
        ),
    ],
    ids=str,
)
def test_the_same_cube_is_solved_in_the_same_job(case):
    with case.run() as r:
        verdict = r.solve()
    assert_solved(verdict, case.excused)
    assert verdict.faults == list(case.faults)
    assert not case.part or case.part in verdict.record.faults[0].cause


@pytest.mark.parametrize(
    "case",
    [
        Case("sensors", "jam", MISSED, part="front"),
        Case("sensors", "sensor-never-active", ("home-missing",), 0.0, HOMING, part="left"),
        Case("sensors", "sensor-always-active", ("home-stuck",), 0.0, HOMING, part="left"),
    ],
    ids=str,
)
def test_what_stays_jammed_is_named_before_anything_else_turns(case):
    with case.run() as r:
        verdict = r.solve()
        assert verdict.violations == ()
        assert (verdict.state, verdict.faults[:1]) == (RobotState.FAULT, list(case.faults))
        assert (verdict.record.outcome, verdict.record.attempts) == ("jammed", 2)
        assert case.part in verdict.record.reason
        ACTIONS[case.mend](r)
        assert_solved(r.solve())


UNANSWERED, UNPLUGGED = ("link-lost", "no-answer"), ("link-lost", "port-missing")
STOPPED = ("emergency-stop",)
DEAD = {"excused": STOPPED_DEAD}
PLUG = {"mend": "put-the-plug-back"}


@pytest.mark.parametrize(
    "case",
    [
        Case("cubotino", "corrupted-emergency-stops", STOPPED),
        *long(Case("sensors", "corrupted-emergency-stops", STOPPED, firmware="avr", **DEAD)),
        Case("sensors", "lose-all-acknowledgements", UNANSWERED, mend="mend-the-line"),
        *long(Case("cubotino", "lose-all-acknowledgements", UNANSWERED, mend="mend-the-line")),
        # A killed host leaves a robot that its successor can use.
        Case("sensors", "pull-the-plug-for-good", UNPLUGGED, **PLUG),
        Case("cubotino", "power-cut", UNPLUGGED, 5.0, excused=HALF_TURNED, **PLUG),
        *long(
            Case("sensors", "pull-the-plug-for-good", UNPLUGGED, firmware="avr", **PLUG),
            Case("cubotino", "pull-the-plug-for-good", UNPLUGGED, **PLUG),
            Case("mindcuber", "pull-the-plug-for-good", UNPLUGGED, **PLUG),
            Case("sensors", "power-cut", UNPLUGGED, 0.4, **PLUG),
            Case("two-arm", "power-cut", UNPLUGGED, 3.0, **PLUG),
        ),
    ],
    ids=str,
)
def test_what_ends_a_job_is_named_and_the_next_one_solves(case):
    """Allow ``excused`` only for the next job: the one that ends does nothing unsafe."""
    with case.run() as r:
        verdict = r.solve()
        assert verdict.violations == ()
        assert (verdict.state, verdict.record.outcome) == (RobotState.FAULT, "fault")
        assert verdict.faults == list(case.faults)
        ACTIONS[case.mend](r)
        assert_solved_at_last(r, case.excused)


PULSES_PER_S = 50


def test_one_emergency_stop_stops_the_arms_of_all_boards():
    """Check that only the pulses continue with which jaws hold the cube."""
    with Case("soltvvo", "emergency-stop-of-all", after_s=0.5).run() as r:
        assert r.solve().fault == "emergency-stop"
        r.loop.pass_time(0.1)  # jaws reach their last targets
        before = r.robot.edges
        r.loop.pass_time(1.0)
        jaws = [name for name in r.profile.actuators if name.endswith("-jaw")]
        assert r.robot.edges - before == len(jaws) * PULSES_PER_S * 2
        assert not r.robot.moving


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1_000))
def test_a_pico_solves_though_a_byte_in_a_hundred_is_wrong(seed):
    with SimulatedRun(
        load_profile("six-motor-pico"), scrambled(3, seed), seed=seed, firmware="rp2040"
    ) as r:
        ACTIONS["flip-0.01"](r)
        verdict = r.solve()
    assert_solved(verdict)
    assert not verdict.faults


def assert_solved_at_last(r: SimulatedRun, excused: frozenset[str] = frozenset()) -> None:
    """Assert that the next job solves the cube, or the board's unreported turns already have."""
    verdict = r.solve()
    assert verdict.record.outcome in {"solved", "already-solved"}, verdict.record.reason
    assert r.robot.solved and {one.kind for one in verdict.violations} <= excused


@pytest.mark.parametrize("profile", ["sensors", pytest.param("cubotino", marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("damage", "rate"),
    [
        pytest.param(damage, rate, marks=[pytest.mark.long] * (rate < 0.3 or damage != "drop"))
        for damage in DAMAGES
        for rate in (0.1, 0.2, 0.3)
    ],
)
def test_a_hopeless_line_is_given_up_by_name(profile, damage, rate):
    with Case(profile, f"{damage}-{rate}").run() as r:
        verdict = r.solve()
        assert verdict.violations == ()
        if verdict.record.outcome != "solved":
            assert verdict.state is RobotState.FAULT
            assert verdict.fault in {"link-lost", "no-answer", "host-lost"}
            ACTIONS["mend-the-line"](r)
            assert_solved_at_last(r)


@pytest.mark.parametrize(
    "case",
    [
        Case("six-motor", "reset", RESET),
        Case("six-motor", "power-cut-first", (*LOST, *RESET), 0.35),
        *moments(0.37, [1], "crane-2", "reset", RESET, count=24, part="turntable"),
    ],
    ids=str,
)
def test_a_motor_without_end_stop_caught_in_motion_is_left_to_a_person(case):
    """Ask a person if half turned layers matter: a reset board never releases them."""
    with case.run() as r:
        verdict = r.solve()
        assert verdict.violations == () and verdict.faults == list(case.faults)
        if case.part and verdict.solved:
            return
        assert verdict.state is RobotState.FAULT
        assert "square by hand" in verdict.record.faults[-1].remedy
        assert case.part in verdict.record.faults[-1].cause
        r.robot.set_square()
        assert_solved(r.solve())


def test_a_fault_that_never_happens_fails_the_test():
    with (
        pytest.raises(AssertionError, match="never happened"),
        Case("six-motor", "unplug", after_s=1e6).run() as r,
    ):
        r.solve()


def test_play_that_is_made_up_for_does_no_harm():
    with simulated_run("play") as r:
        assert_solved(r.solve())


FINER = 16
TOO_MANY_STEPS_PER_S = 70_000


def test_more_steps_than_the_chip_can_make_end_by_name(monkeypatch):
    """Use microsteps too fine for the chip, and omit the host's check."""
    monkeypatch.setattr("robot.link.link.check_plan", lambda *_, **__: None)
    document = with_sensors().model_dump(mode="json", exclude_unset=True)
    for motor in document["actuators"].values():
        motor["steps_per_turn"] *= FINER
        motor["turn_check"]["every_steps"] *= FINER
        motor["start_speed_steps_per_s"] = motor["max_speed_steps_per_s"] = TOO_MANY_STEPS_PER_S
        motor["max_acceleration_steps_per_s2"] = 1_000_000
    too_fast = RobotProfile.model_validate(document)
    with SimulatedRun(too_fast, scrambled(3, 1), firmware="avr") as r:
        verdict = r.solve()
    assert verdict.state is RobotState.FAULT and verdict.fault in {"overload", "hung"}
    assert {violation.kind for violation in verdict.violations} <= STOPPED_DEAD


EVERY_S = {"four-arm": 0.65, "two-arm": 3.2, "no-sensors": 0.2, "two-arm-2x2x2": 0.8}
"""Gripper robots: twelve times this covers nearly all turns of a solve."""
WITHOUT_END_STOPS = ("four-arm", "no-sensors")


def on_every_gripper_robot(*actions: str) -> Any:
    """Return actions at the moments of all gripper robots; one of each is for every day."""
    cases = [
        case
        for action in actions
        for profile, every_s in EVERY_S.items()
        for case in moments(every_s, [4] * (profile == "no-sensors"), profile, action)
    ]
    return pytest.mark.parametrize("case", cases, ids=str)


@pytest.mark.parametrize("silent_s", [0.0, pytest.param(5.0, marks=pytest.mark.long)])
@on_every_gripper_robot("pull-the-plug-for-good")
def test_grippers_of_a_killed_host_are_homed_by_its_successor(case, silent_s):
    with case.run() as r:
        assert r.solve().violations == ()
        leave_the_record_open(r)
        r.loop.pass_time(silent_s)
        r.port.plug()
        assert_solved(r.solve())


@pytest.mark.parametrize("restarted", [False, pytest.param(True, marks=pytest.mark.long)])
@on_every_gripper_robot("press-stop")
def test_grippers_go_home_from_where_they_were_stopped(case, restarted):
    with case.run() as r:
        if restarted:
            assert r.solve(killed=False).record.outcome == "stopped"
            verdict = r.solve()
        else:
            verdict = r.solve(starts=2)
    assert_solved(verdict)
    assert verdict.faults == []


def assert_left_to_a_person(r: SimulatedRun, verdict: Verdict, fault: str) -> None:
    """Assert that the job ended because motors without end stop are lost and jaws would collide.

    The person squares cube and motors as at the start.
    """
    assert {violation.kind for violation in verdict.violations} <= STOPPED_DEAD
    assert (verdict.state, verdict.fault) == (RobotState.FAULT, fault)
    assert "square by hand" in verdict.record.faults[-1].remedy
    with SimulatedRun(r.profile, r.robot.body) as squared:
        assert_solved(squared.solve())


@on_every_gripper_robot("reset", "corrupted-emergency-stops")
def test_grippers_that_stopped_dead_go_home_or_are_left_to_a_person(case):
    with case.run() as r:
        verdict = r.solve()
        if case.profile not in WITHOUT_END_STOPS:
            if verdict.state is RobotState.FAULT:
                # The person who should check that all is square did not, and the half open jaws are
                # forgotten because the daemon was killed.
                assert_solved(r.solve(), STOPPED_DEAD | HALF_OPEN)
            else:
                assert_solved(verdict, STOPPED_DEAD)
        elif verdict.state is not RobotState.IDLE:
            fault = "reset" if case.action == "reset" else "emergency-stop"
            assert_left_to_a_person(r, verdict, fault)


@on_every_gripper_robot("power-cut")
def test_after_a_power_cut_of_everything_grippers_go_home_or_are_left_to_a_person(case):
    with case.run() as r:
        assert r.solve().violations == ()
        leave_the_record_open(r)
        r.port.plug()
        verdict = r.solve()
        if case.profile in WITHOUT_END_STOPS:
            assert_left_to_a_person(r, verdict, "reset")
        else:
            assert_solved(verdict, HALF_OPEN)
