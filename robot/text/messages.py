"""Short texts for people of any language, most with a code and parameters.

They are steps of jobs, reasons for refusals by the daemon or the page's server, recoveries, and
problems of the line or a camera. Records and the journal are in English;
:mod:`robot.text.languages` has the translations by code.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from robot.text.findings import FINDINGS
from solver.errors import Coded
from vision.reasons import REASONS

NOTES: Mapping[str, str] = {
    # Reasons for refused requests.
    "busy": "the robot is {state} (run {run}): wait for it, or run `cubist stop`",
    "starting": "the robot is starting or finishing something: try again in a moment",
    "calibrated": (
        "a program has been calibrating since {since}; `cubist calibrate --take-over` ends that"
    ),
    "calibrated-terminal": (
        "a terminal ({at}) has been calibrating since {since}; "
        "`cubist calibrate --take-over` ends that"
    ),
    "calibrated-page": (
        "the page on {at} has been calibrating since {since}; "
        "`cubist calibrate --take-over` ends that"
    ),
    "calibrated-display": (
        "the display has been learning colours since {since}; "
        "`cubist calibrate --take-over` ends that"
    ),
    "taken-over": (
        "a terminal ({at}) took over the calibration at {since}: values kept until then stay"
    ),
    "no-picture-yet": "the robot is working and has taken no picture yet",
    "estop-open": "the emergency stop is pressed, or its wire is broken; release it first",
    "ending": "the robot is shutting down",
    "check-up-ended": "the check-up ended because the robot began to work",
    "not-supervised": (
        "nothing would restart cubistd, because it was started by hand: end it and start it again "
        "where it runs"
    ),
    "not-in-maintenance": "the robot is not in maintenance mode (`cubist calibrate` enters it)",
    "nothing-before": "nothing was kept before: there is no version to go back to",
    # Warnings about records.
    "not-recorded": "the last run is not recorded: {reason}",
    # Problems of the calibration.
    "calibrated-as-another": (
        "there is no calibration of {robot}, but one of {other} of {since}: if this is the same "
        "robot, `cubist calibration import --from-another {other}` starts from it"
    ),
    # Recoveries from problems.
    "looked-again": "looked again: {fault}",
    "looked-again-unsure": "looked again: the colours leave more than one possible cube",
    "looked-again-at": "looked again at {faces}: the colours leave more than one possible cube",
    "started-over": "homed and started over after a fault: {fault}",
    "solved-again": "the cube was not solved after the turns: solved again from there",
    # Drift since the robot was calibrated.
    "moved": (
        "{actuator} {position} has moved {degrees} degrees since {since}: `cubist calibrate auto` "
        "finds it again; with `policy.self_adjust` the robot corrects such drift by itself"
    ),
    "moved-too-far": (
        "{actuator} {position} has moved {degrees} degrees since {since}, more than the robot may "
        "correct by itself: check that its screws are tight, then run `cubist calibrate auto`"
    ),
    "adjusted": (
        "{actuator} had moved {degrees} degrees since {since}; the robot adjusted it: {pulses} "
        "(`cubist calibration restore` undoes it)"
    ),
    "camera-moved": (
        "the camera has moved since {since}: faces have shifted by {percent} % of their width; "
        "check that it is tight, then run `cubist calibrate camera`"
    ),
    "camera-turned": (
        "the camera has turned by {degrees} degrees since {since}: check that it is tight, then "
        "run `cubist calibrate camera --place U`"
    ),
    "turned": (
        "faces have turned by {degrees} degrees since {since}, and the pictures do not show "
        "whether {actuator} or the camera has moved: check that both are tight, then run `cubist "
        "calibrate auto`"
    ),
    # Limitations of a camera.
    "exposure-not-locked": (
        "camera {camera}: its driver does not lock the exposure, so colours may change "
        "between faces; keep the light even, or use another camera"
    ),
    "white-balance-not-locked": (
        "camera {camera}: its driver does not lock the white balance, so colours may change "
        "between faces; keep the light even, or use another camera"
    ),
    "focus-not-locked": (
        "camera {camera}: its driver does not lock the focus, so pictures may become "
        "blurred; switch its autofocus off, or use another camera"
    ),
    "focus-not-found": (
        "camera {camera} found no focus and keeps its present setting; set `lens_position` in the "
        "profile if its pictures are blurred"
    ),
    # Problems of the line and its boards.
    "line-damaged": (
        "the serial line damaged {damaged} of {total} messages ({share}): use a shorter or "
        "shielded cable, away from the motors"
    ),
    "bytes-lost": "the board lost {count} bytes: it is overloaded, or its baud rate is off",
    "paused-once": (
        "motion paused once because this computer fell silent: something else keeps it busy, or "
        "its power is low"
    ),
    "paused": (
        "motion paused {count} times because this computer fell silent: something else keeps it "
        "busy, or its power is low"
    ),
    "underrun-once": "the board ran out of turns once and waited for more",
    "underrun": "the board ran out of turns {count} times and waited for more",
    "late-once": "turns began late once: the board cannot keep up",
    "late": "turns began late {count} times: the board cannot keep up",
    "driver-warm": (
        "the stepper driver of {actuator} is hotter than {celsius} °C: lower driver.run_ma or "
        "driver.hold_ma, or cool the drivers with a fan"
    ),
    # Views of a camera without a readable cube.
    **REASONS,
    # Findings of the check-up.
    **FINDINGS,
}
"""English by code. The parameter ``fault`` is the code of a fault, ``state`` a state of the daemon;
``what`` and ``remedy`` are codes of other notes with the same parameters."""


DRIFT_NOTES = frozenset({"moved", "moved-too-far", "camera-moved", "camera-turned", "turned"})
"""Codes of notes about drift since the robot was calibrated."""


class Note(Coded):
    """The reason for a refusal, or other information for people."""

    __slots__ = ()
    ENGLISH = NOTES


STAGES: Mapping[str, str] = {
    "home": "homing",
    "scan": "scanning",
    "view": "checking the view",
    "wait": "waiting for a clear view",
    "read": "reading",
    "search": "searching",
    "plan": "planning",
    "split": "splitting the plan",
    "turn": "turning",
    "check": "checking",
    "reconnect": "reconnecting",
    "save": "saving",
}
"""Stages by which a run's time is recorded, in English."""


STEPS: Mapping[str, str] = {
    "start": "starting",
    "home": "finding the home positions",
    "plan-looks": "planning the looks",
    "look": "looking at {faces} ({seen} of {count})",
    "wait-for-hand": "waiting: take your hand away",
    "wait-for-cube": "waiting: put the cube in",
    "wait-for-one-cube": "waiting: leave only one cube in view",
    "wait-for-right-size": "waiting: put a cube of the right size in",
    "wait-for-shade": "waiting: a lamp is reflected in the cube, shade it or move the lamp",
    "wait-for-light": "waiting: the picture is too bright or too dark, change the light",
    "wait-for-focus": "waiting: the picture is blurred, clean and focus the camera",
    "plan-scramble": "planning the scramble",
    "search": "searching for the fastest way",
    "load-tables": "loading the tables of the search",
    "make-tables": "making the tables of the search",
    "turn": "turning: {moves} moves in {seconds} s",
    "turn-once": "turning: 1 move in {seconds} s",
    "turn-faster": "turning: {moves} moves in {seconds} s, with a faster end",
    "recover": "recovering: {fault}",
    "at-rest": "at rest: {actuators} without power",
}
"""English by code. The parameter ``fault`` is the code of a fault."""


class JobStep(Coded):
    """The English text of a step."""

    __slots__ = ()
    ENGLISH = STEPS


def coded(text: str) -> dict[str, object]:
    """Return the document's fields with the code of a step's text; none for other texts."""
    if not isinstance(text, JobStep):
        return {}
    return {"step_code": text.code, "step_parameters": text.parameters}


class PageReason(StrEnum):
    """Reasons of the page's server in English. The page translates them like its own texts."""

    INTERNAL = "internal error; see the journal of cubist-web"
    NO_SESSION = "log in with the token that `cubist web` prints"
    VIEWER = "this link only shows the robot"
    WITHDRAWN_FOR_NOW = "withdrawn until the page starts again: the new address cannot be stored"
    TOO_MANY_TOKENS = "too many wrong tokens; wait a minute"
    WRONG_TOKEN = "that is not the token that `cubist web` prints"
    TOO_MANY_TABS = "the page is open in too many tabs; close one"
    NOT_RUNNING = "cubistd is not running"
    NOT_PERMITTED = "cubist-web has no permission to talk to cubistd"
    NO_ROOM = "this computer cannot open another connection to cubistd"
    NO_ANSWER = "cubistd ended, or does not answer in time"
    STRANGE_ANSWER = "cubistd's answer cannot be used: it is a different version"
    NOT_YET = "cubistd has not answered yet"
    ENDED = "cubistd ended"
    NO_MANAGING = "changing the profile and restarting on the page is switched off"
    NO_SIMULATION = "this robot is not simulated"
    NO_GUIDE = "calibrating on the page is switched off"
    OTHER_GUIDE = "the robot is being calibrated in another tab"
    GUIDE_FAILED = "the guide ended unexpectedly; see the journal of cubist-web"
