"""A person calibrates a badly built robot with keys alone, and it solves three cubes."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from textual.pilot import Pilot
from textual.widgets import Digits, Static

from robot.api.client import ControlClient
from robot.calibration.step import LONGEST_TRIAL_S, Session
from robot.cli.guide_screen import CalibrationApp
from robot.guide.texts import GuideText
from robot.settings import RobotProfile, load_profile
from robot.simulate.simulation import robot_to_practise_on
from robot.twin.cube import scrambled
from robot.twin.misadjustment import Misadjustment
from robot.twin.registry import position_errors
from robot.twin.simulated import SimulatedRobot
from tests.rig.guide import press_keys, settle_app

SEES_DEGREES = 0.6
"""A person sees by eye whether a part is so far off."""

SPEED = 4.0


@dataclass
class Person:
    """Presses keys, and looks at the robot and at the screen in between."""

    pilot: Pilot[int]
    profile: RobotProfile
    twin: SimulatedRobot
    keys: list[str] = field(default_factory=list)

    async def press(self, *keys: str) -> None:
        self.keys += keys
        await press_keys(self.pilot, keys)

    @property
    def heading(self) -> str:
        return str(self.pilot.app.screen.sub_title).rpartition(": ")[2]

    def text_of(self, part: str) -> str:
        return str(self.pilot.app.screen.query_one(part, Static).content)

    def error_of(self, pulse: int) -> float:
        """Degrees that the part in the heading is off with a pulse."""
        actuator, _, position = self.heading.rpartition(" ")
        key = f"actuators.{actuator}.positions_us.{position}"
        return position_errors(self.profile, self.twin.misadjusted, {key: pulse})[key]

    async def place(self) -> None:
        """Bring the part in the heading to where it belongs, and keep it."""
        for _ in range(2):  # it is next, and nobody knows where it stands
            if "choose Begin" in self.text_of("#help"):
                await self.press("b")
        pulse = self._pulse
        if abs(self._off(pulse)) > 60:
            await self.press("g")
        while abs(self.error_of(self._pulse)) > SEES_DEGREES:
            off = self._off(self._pulse)
            size = next(size for size in (50, 10, 1) if abs(off) >= 0.6 * size)
            names = {50: ("pageup", "pagedown"), 10: ("up", "down"), 1: ("right", "left")}[size]
            await self.press(names[off > 0])
        await self.press("enter")

    @property
    def _pulse(self) -> int:
        return int(self.pilot.app.screen.query_one(Digits).value)

    def _off(self, pulse: int) -> float:
        """Microseconds of pulse that it is off."""
        slope = (self.error_of(pulse + 100) - self.error_of(pulse)) / 100
        return self.error_of(pulse) / slope


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("robot", "most"), [("cubotino", 60), ("two-arm", 80), ("otvinta", 110)])
async def test_a_person_with_keys_alone_gets_a_robot_that_solves(robot, most):
    profile = load_profile(robot)
    truth = Misadjustment(94901)
    with robot_to_practise_on(profile, misadjusted=truth, speed=SPEED) as twin:
        client = ControlClient(timeout_s=LONGEST_TRIAL_S)
        session = Session(client, profile)
        with session.maintenance():
            app = CalibrationApp(session)
            async with app.run_test(size=(80, 24)) as pilot:
                await settle_app(pilot)
                person = Person(pilot, profile, twin)
                await person.press("enter")
                while person.heading != "Positions":
                    await person.press("n")
                await person.press("enter")
                while person.heading != "Positions":
                    await person.place()
                assert person.text_of("#message") == GuideText.ALL_KEPT
                # The cube was out all the while, which the simulated robot does not know.
                assert {one.kind for one in twin.violations} <= {"dropped"}
                twin.incidents.violations.clear()
                twin.insert(scrambled(profile.cube.size, 1))
                await person.press("n", "enter", "n")
                assert person.heading == "Camera"
                while "\n" not in person.text_of("#advice"):
                    await pilot.pause(0.2)
                await person.press("f", "enter", "n", "n")
                assert person.heading.startswith("Colours")
                await person.press("m", "enter", "ctrl+q")
        assert len(person.keys) <= most
        for number in range(3):
            twin.insert(scrambled(profile.cube.size, 2 + number))
            client.start()
            assert wait_for_end(client) == "solved", number
            assert twin.solved
        assert twin.violations == []


def wait_for_end(client: ControlClient) -> str | None:
    """Return the outcome of the job under way."""
    with client.events() as events:
        if client.status()["job"] is not None:
            next(event for event in events if event["event"] == "finished")
    last = client.status()["last_run"]
    return last["outcome"]
