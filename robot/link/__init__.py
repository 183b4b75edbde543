"""The serial link to the microcontroller: frames, window, credits, sessions."""

from robot.link.actuators import ActuatorSetup, EndstopHoming, ServoSetup, StepperSetup, TurnCheck
from robot.link.capability import Capabilities
from robot.link.link import Execution, Link
from robot.link.session import Statistics
from robot.link.thread import LinkThread
from robot.link.transport import SerialTransport, Transport
from robot.link.whereabouts import Whereabouts

__all__ = [
    "ActuatorSetup",
    "Capabilities",
    "EndstopHoming",
    "Execution",
    "Link",
    "LinkThread",
    "SerialTransport",
    "ServoSetup",
    "Statistics",
    "StepperSetup",
    "Transport",
    "TurnCheck",
    "Whereabouts",
]
