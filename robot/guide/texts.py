"""Texts of the dialogs themselves. Those of a step and its measurements are in its module."""

from __future__ import annotations

from enum import StrEnum


class GuideText(StrEnum):
    """Messages and labels in English; the page translates them."""

    CALIBRATE = "Calibrate"
    MENU = (
        "The robot is in maintenance, and its button stops any motion. You can try everything "
        "before you keep it, and undo it afterwards. Steps left: {steps}, about {minutes} minutes."
    )
    TO_DO = "to do"
    EVERYTHING = "Everything, step by step: for a new robot"
    NONE = "this robot has none"

    AT_WORK = "the robot is at work"
    AT_WORK_FOR = "the robot is at work ({time})"
    WAIT = "the robot is still at work: one moment"
    LEAVING = "this closes when the robot has finished"
    MEASURE_FIRST = "there is nothing to keep: measure first"
    NOT_MOVED = "the frame has not moved"
    KEPT = "kept"
    UNDONE = "undone"
    NOTHING_TO_UNDO = "there is nothing to undo"

    BACK = "Back"
    NEXT = "Next"
    UNDO = "Undo"
    KEEP = "Keep"
    GIVE_UP = "Give up"
    BEGIN = "Begin"
    GO_THERE = "Go there"
    WAITS = (
        "This position is next. Take your hands out of the robot, then choose Begin: it moves then."
    )
    GOING = "moving to {place}: Go there stops it"
    ALL_KEPT = "all positions are kept"
    STEP_BACK = "Back a step"
    MEASURE = "Measure"
    GO = "Go"
    YES = "Yes"
    NO = "No"
    FIND = "Find"
    OTHER_CAMERA = "Other camera"
    OTHER_FACE = "Other face"
    OTHER_CORNER = "Other corner"
    MOVE = "Move"
