"""The step "home": the check that everything reaches its start position."""

from __future__ import annotations

from robot.calibration.step import STEPS, Bench, Measurement, Result, Script, Session, Step, Trial
from robot.machine.confirmed_range import ConfirmedRange, NotConfirmed
from robot.records.documents import ApiRequest, Nothing

KEEP_FIRST = "keep them first, in the earlier steps of the calibration"


class HomeRequest(ApiRequest):
    """Home. ``as_profile``: even if nobody has confirmed the robot's positions and directions."""

    as_profile: bool = False


def home_all(bench: Bench, _: HomeRequest) -> Nothing:
    """Move all actuators to their start positions; raises ``NotConfirmed`` and ``RobotError``."""
    bench.machine.motion.reconfigure(bench.profile, {})
    bench.machine.motion.home()
    return Nothing()


HOMING = Trial(
    "home",
    "Home all actuators",
    HomeRequest,
    Nothing,
    home_all,
    trusted=lambda profile, asked: profile.actuators if asked.as_profile else (),
    renews=False,
)


class Homing(Measurement):
    """A move to the start positions while a person watches."""

    name = "home"
    guidance = (
        "Choose Go: every motor homes and goes to its start position. Check that the cube can be "
        "put in and taken out now; if not, set the positions next."
    )
    keeps = False

    def __init__(self, session: Session, as_profile: bool = False) -> None:
        super().__init__(session)
        self._as_profile = as_profile
        self.purpose = session.profile.mechanism.measured_purpose(self.name)

    def measure(self, choice: str = "") -> Script:
        """See :meth:`Measurement.measure`."""
        if not self._as_profile:
            self._require_confirmed()
        self.session.perform(HOMING, as_profile=self._as_profile)
        self.result = Result(document={"homed": True}, text="everything is at its start position")
        yield from ()

    def _require_confirmed(self) -> None:
        """Raise :class:`NotConfirmed`, with a remedy for a person who is already calibrating."""
        try:
            ConfirmedRange(self.session.calibration.confirmed).require_all(self.session.profile)
        except NotConfirmed as error:
            raise NotConfirmed(error.cause, KEEP_FIRST) from error


STEPS["home"] = Step(
    name="home",
    title="Home: does everything reach its start position?",
    trials=[HOMING],
    begin=Homing,
)
