"""Motion profiles of one actuator: servo slews and stepper moves, exact to the tick."""

from robot.motion.schedule import MotionError
from robot.motion.servo import servo_path, servo_slew
from robot.motion.stepper import StepperLimits, stepper_limits, stepper_move, stepper_path

__all__ = [
    "MotionError",
    "StepperLimits",
    "servo_path",
    "servo_slew",
    "stepper_limits",
    "stepper_move",
    "stepper_path",
]
