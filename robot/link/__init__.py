"""The serial link to the microcontroller: frames, window, credits, sessions."""

from robot.link.actuators import (
    ActuatorSetup,
    EndstopHoming,
    ServoSetup,
    StepperSetup,
    TurnCheckSetup,
)
from robot.link.group import LinkGroup, LinkThread
from robot.link.ledger import BoardLedger, LastPositions, LostPositions, PositionLedger
from robot.link.link import Execution, Link
from robot.link.plans import Capabilities
from robot.link.session import SessionStatistics
from robot.link.transport import SerialTransport, Transport, touch_port

__all__ = [
    "ActuatorSetup",
    "BoardLedger",
    "Capabilities",
    "EndstopHoming",
    "Execution",
    "LastPositions",
    "Link",
    "LinkGroup",
    "LinkThread",
    "LostPositions",
    "PositionLedger",
    "SerialTransport",
    "ServoSetup",
    "SessionStatistics",
    "StepperSetup",
    "Transport",
    "TurnCheckSetup",
    "touch_port",
]
