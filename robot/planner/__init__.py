"""Plans: the fastest way for a robot to scan a cube and to solve it."""

from robot.mechanism.compile.cost_model import cost_model
from robot.mechanism.graph import Mechanism, State
from robot.mechanism.registry import build_mechanism
from robot.planner.move_times import greedy_us, move_ends_us
from robot.planner.plan import Plan
from robot.planner.retrace import PlanningError
from robot.planner.scan import FaceView, ScanPlan, ScanStep, plan_scan
from robot.planner.solve import ANY_SOLVED, Aim, plan_composites, plan_scramble, plan_solve, prepare
from robot.planner.stopping import StoppingRule, Watch, split_at, turn_cube, where_to_cut_us

__all__ = [
    "ANY_SOLVED",
    "Aim",
    "FaceView",
    "Mechanism",
    "Plan",
    "PlanningError",
    "ScanPlan",
    "ScanStep",
    "State",
    "StoppingRule",
    "Watch",
    "build_mechanism",
    "cost_model",
    "greedy_us",
    "move_ends_us",
    "plan_composites",
    "plan_scan",
    "plan_scramble",
    "plan_solve",
    "prepare",
    "split_at",
    "turn_cube",
    "where_to_cut_us",
]
