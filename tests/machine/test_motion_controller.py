"""The motion controller's calls to the boards, one by one, and its use of their answers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

from robot.link import Capabilities, Execution, LostPositions
from robot.link.protocol import FIRMWARE_VERSION, Board
from robot.link.session import SessionStatistics
from robot.machine.board_configuration import actuator_setups
from robot.machine.confirmed_range import ConfirmedRange
from robot.machine.motion_controller import MotionController
from robot.machine.slow_motion import jog_profile, paths_to_start, require_within
from robot.motion.schedule import Schedule, TimedTurn
from robot.motion.servo import servo_slew
from robot.settings import load_profile
from robot.text.faults import Fault, LinkError, RobotError, Stopped
from solver.errors import InvalidRequest
from tests.rig.boards import is_fault
from tests.rig.computers import running


class Asked:
    """A link and its thread that list their calls and fail on request."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.fails: dict[str, list[Exception]] = {}
        self.homes: Any = lambda names: None
        self.version = FIRMWARE_VERSION
        self.statistics = SessionStatistics(0, 0, 0, 0, 0, 0)
        self.failure: RobotError | None = None

    def __call__(self, *_: object) -> Asked:
        self.calls.append("thread")
        return self

    @property
    def link(self) -> Asked:
        return self

    def wait(self, work: Any) -> Any:
        return asyncio.run(work)

    def _note(self, what: str, *more: Any) -> None:
        self.calls.append((what, *more) if more else what)
        if self.fails.get(what):
            raise self.fails[what].pop(0)

    async def open(self) -> dict[str, Capabilities]:
        self._note("open")
        self.failure = None
        return {"first": running(Board.HOST, self.version)}

    async def configure(self, anew: bool) -> None:
        self._note("configure", anew)

    async def active_sensors(self) -> frozenset[str]:
        self._note("sensors")
        return frozenset()

    async def home(self, names: list[str]) -> None:
        self._note("home", *names)
        self.homes(names)

    async def take_up(self, names: list[str]) -> None:
        self._note("take up", *names)
        self.homes(names)

    async def run(self, schedule: Schedule, progress: Any = None) -> Execution:
        turns = [schedule.profiles[turn.profile] for turn in schedule.turns]
        self._note("run", *((one.actuator, one.start, one.end) for one in turns))
        return Execution(schedule.duration_us + 5, len(turns), (), waited_s=0.25)

    async def stop(self) -> None:
        self._note("stop")

    async def emergency_stop(self) -> None:
        self._note("emergency")

    def adopt(self, setups: Any) -> None:
        self._note("adopt", {one.name: one.stands_at for one in setups})

    def close(self) -> None:
        self.calls.append("close")


class Robot:
    """A controller of a shipped robot on such a link."""

    def __init__(self, name: str) -> None:
        self.board = Asked()
        contact = ConfirmedRange({}, simulated=True)
        self.motion = MotionController(load_profile(name), contact, make_link=self.board)
        self.board.homes = self.homed
        self.places = {one.name: one.start for one in self.motion.setups}

    def homed(self, names: list[str]) -> None:
        for name in names:
            self.motion.ledger.board_ledger("first").note_homed(name, self.places[name])

    @property
    def calls(self) -> list[Any]:
        calls, self.board.calls = self.board.calls, []
        return calls


@pytest.fixture
def uno() -> Robot:
    return Robot("cubotino-uno")


@pytest.fixture
def mindcuber() -> Robot:
    return Robot("mindcuber")


def table_turns() -> Schedule:
    slew = servo_slew("holder", 1500, 2400, 400_000)
    return Schedule((slew,), (TimedTurn(0, 0),), 400_000)


def test_homing_goes_actuator_by_actuator_and_knows_everything_then(uno):
    uno.motion.home()
    assert uno.calls == [
        *("thread", "open", ("configure", False), "sensors"),
        *(("home", "lid"), ("home", "holder")),
    ]
    uno.board.fails["home"] = [RobotError(Fault.OVERLOAD, detail="lid")]
    with pytest.raises(RobotError, check=is_fault("overload")):
        uno.motion.home()
    assert "lid" in uno.motion.ledger.caught_moving
    uno.calls.clear()
    uno.motion.home()
    assert ("configure", False) in uno.calls, "what failed made the link doubtful"
    assert uno.motion.ledger.caught_moving == ()


def test_what_is_named_or_askew_is_homed_first(mindcuber):
    usual = [call[1] for call in homing_of(mindcuber)]
    assert sorted(usual) == ["arm", "table"]
    last = usual[-1]
    assert next(call[1] for call in homing_of(mindcuber, last)) == last
    assert [call[1] for call in homing_of(mindcuber)] == usual


def homing_of(robot: Robot, *first: str) -> list[Any]:
    robot.motion.home(first)
    return [call for call in robot.calls if call[0] == "home"]


@pytest.mark.parametrize(
    ("error", "code", "closes"),
    [
        (RobotError(Fault.OVERLOAD, detail="lid"), "overload", False),
        (LinkError(Fault.LINK_LOST), "link-lost", True),
    ],
)
def test_a_fault_ends_homing_and_a_broken_link_is_given_back(uno, error, code, closes):
    uno.motion.home()
    uno.calls.clear()
    uno.board.fails["run"] = [error]
    with pytest.raises(RobotError) as raised:
        uno.motion.perform(table_turns(), lambda _: None)
    assert (raised.value, error.code) == (error, code)
    assert ("close" in uno.calls) is closes
    assert uno.motion.position("lid") is None
    uno.motion.open()
    again = ["thread", "open"] if closes else []
    assert uno.calls == [*again, ("configure", False)]


BEGINNINGS: tuple[Callable[[Robot], object], ...] = (
    lambda robot: robot.motion.home(),
    lambda robot: robot.motion.home_alone("lid", robot.places["lid"]),
    lambda robot: robot.motion.open(),
)


@pytest.mark.parametrize("begin", BEGINNINGS)
def test_a_cable_that_was_out_at_rest_delays_no_start(uno, begin):
    uno.motion.home()
    uno.calls.clear()
    uno.board.failure = LinkError(Fault.LINK_LOST)
    begin(uno)
    assert uno.calls[:4] == ["close", "thread", "open", ("configure", False)]


def test_a_stop_is_no_error(uno):
    uno.motion.stop()
    assert uno.calls == [], "there is no link yet"
    uno.motion.open()
    uno.board.fails["stop"] = [RobotError(Fault.NO_ANSWER)]
    uno.motion.stop()
    assert uno.calls[-1] == "stop"
    with pytest.raises(Stopped):
        uno.motion.home()


@pytest.mark.parametrize(
    ("fault", "is_stopped", "raised"),
    [
        (Stopped(), False, Stopped),
        (RobotError(Fault.NOT_HOMED, detail="lid"), False, RobotError),
        (RobotError(Fault.NOT_HOMED, detail="lid"), True, Stopped),
        (RobotError(Fault.OVERLOAD, detail="lid"), True, RobotError),
    ],
)
def test_a_fault_that_a_stop_brought_about_is_the_stop(uno, fault, is_stopped, raised):
    def fail(names: list[str]) -> None:
        if is_stopped:
            stopping = threading.Thread(target=uno.motion.stop)
            stopping.start()
            stopping.join()
        raise fault

    uno.board.homes = fail
    with pytest.raises(raised):
        uno.motion.home()


def test_jogs_are_of_actuators_that_there_are_and_homed(uno):
    with pytest.raises(
        InvalidRequest, match=r"^actuator: 'x' does not exist; the robot has holder, lid$"
    ):
        uno.motion.jog("x", 1500)
    assert uno.calls == []
    with pytest.raises(RobotError) as raised:
        uno.motion.jog("lid", 1500)
    assert raised.value.code == "not-homed" and "lid" in raised.value.cause
    uno.motion.open()
    uno.homed(["lid"])
    uno.calls.clear()
    at = uno.places["lid"]
    assert uno.motion.jog("lid", at + 10) == at + 10
    assert uno.calls == [("run", ("lid", at, at + 10))]
    assert uno.motion.jog("lid", at) == at
    assert uno.calls == [], "it is there"


def test_a_stepper_alone_is_homed_and_a_servo_taken_up(uno, mindcuber):
    assert mindcuber.motion.home_alone("table", 0) == mindcuber.places["table"]
    assert mindcuber.calls[-1] == ("home", "table")
    # At its start nothing is set up again.
    assert uno.motion.home_alone("lid", uno.places["lid"]) == uno.places["lid"]
    found = uno.calls
    assert found[-1] == ("take up", "lid")
    assert ("adopt", {"holder": None, "lid": uno.places["lid"]}) not in found[3:]


def test_motors_that_only_count_are_brought_back_while_the_count_is_known(mindcuber):
    assert mindcuber.motion.bring_back(()) == ()
    assert mindcuber.calls == [], "a robot that is not connected turns nothing"
    mindcuber.motion.home()
    ledger = mindcuber.motion.ledger.board_ledger("first")
    ledger.note_homed("table", 390)
    mindcuber.calls.clear()
    mindcuber.motion.bring_back(())
    assert mindcuber.calls == [("run", ("table", 390, 400))]


def test_distrusted_positions_are_told_at_homing_also_by_the_next_controller(mindcuber):
    mindcuber.motion.mark_positions_lost(LostPositions.of_calibration(("table",)))
    heir = Robot("mindcuber")
    mindcuber.motion.pass_losses_on(heir.motion)
    for motion in (mindcuber.motion, heir.motion):
        with pytest.raises(RobotError, match="calibration was interrupted"):
            motion.home()
    other = Robot("mindcuber")
    other.motion.mark_positions_lost(LostPositions.of_calibration(("table",)))
    other.motion.assume_start_positions()
    other.motion.home()


def test_another_firmware_is_refused_until_it_is_flashed(uno):
    uno.board.version = "0.0.9"
    with pytest.raises(RobotError, match=r"0\.0\.9 on the board") as caught:
        uno.motion.open()
    assert (caught.value.code, caught.value.recoverable) == ("wrong-firmware", False)
    assert "cubist firmware flash" in caught.value.remedy
    assert uno.calls[-1] == "close"
    uno.board.version = FIRMWARE_VERSION
    uno.motion.open()


@pytest.mark.parametrize("confirmed", [True, False])
def test_nothing_moves_after_an_emergency_stop_until_it_is_over(uno, confirmed):
    uno.motion.home()
    if not confirmed:
        uno.board.fails["emergency"] = [LinkError(Fault.NO_ANSWER)]
    with nullcontext() if confirmed else pytest.raises(RobotError, match="answer"):
        uno.motion.emergency_stop()
    assert (uno.calls[-1] == "emergency") is confirmed
    assert uno.motion.position("lid") is None
    for move in (uno.motion.home, lambda: uno.motion.perform(table_turns(), lambda _: None)):
        with pytest.raises(RobotError, check=is_fault("emergency-stop")):
            move()
    with pytest.raises(RobotError, match="emergency"):
        uno.motion.open()
    assert not any(call[0] == "run" for call in uno.calls)
    uno.motion.clear_emergency()
    uno.motion.open()
    assert ("configure", False) in uno.calls, "nothing of before is trusted"
    uno.motion.perform(table_turns(), lambda _: None)


LID = next(one for one in actuator_setups(load_profile("cubotino")) if one.name == "lid")
MINDCUBER: dict[str, Any] = {one.name: one for one in actuator_setups(load_profile("mindcuber"))}
ARM, TABLE = MINDCUBER["arm"], MINDCUBER["table"]


def test_a_servo_goes_slowly_and_no_faster_than_its_profile_says_it_can():
    assert jog_profile(ARM, 1500, 1400) == servo_slew("arm", 1500, 1400, 100_000)
    assert jog_profile(LID, 1500, 1400) == servo_slew("lid", 1500, 1400, 133_333)
    assert jog_profile(LID, 1500, 1500) is None


def test_a_jog_beyond_the_limits_is_refused():
    for target in (900, 2100):
        require_within("lid", target, 900, 2100, "us")
        assert jog_profile(LID, 1500, target) is not None
    for target in (899, 2101):
        with pytest.raises(InvalidRequest, match=f"lid cannot go to {target} us: its limits are"):
            jog_profile(LID, 1500, target)
    with pytest.raises(InvalidRequest, match="table cannot go to"):
        jog_profile(TABLE, 0, 2**31)


@pytest.mark.parametrize(
    ("at", "turn", "exactly", "ways"),
    [
        (None, 1600, True, []),
        (100, None, True, []),
        (0, 1600, True, []),
        (-800, 1600, True, [0]),
        (-801, 1600, True, []),
        (800, 1600, True, [-17, 0]),
        (801, 1600, True, []),
        (-200, 1600, False, [-417, -400]),
        (-199, 1600, False, [0]),
        (199, 1592, False, [-17, 0]),
        (-200, 1592, False, []),
        (400, 1600, False, []),
        (399, 1600, False, [400]),
        (401, 1600, False, [383, 400]),
    ],
)
def test_the_way_back_ends_forwards(at, turn, exactly, ways):
    assert TABLE.start == 0
    assert list(paths_to_start(TABLE, at, turn, exactly)) == ways
