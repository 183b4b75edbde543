"""Long campaigns over many cubes: no confident reading is wrong, most readings are right.

``python -m tests.vision.test_campaigns FILE KIND FIRST COUNT [--harsh H]`` appends a line to FILE
for each case of the numbers FIRST to FIRST + COUNT - 1, then prints the sums over the file. Cases
already in FILE are left out. Several may run at once, each with its own file. ``--harsh``
multiplies everything that spoils the pictures.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from pathlib import Path

import cv2
import numpy as np
import pytest

from robot.machine.scanner import FaceImage, Scanner
from robot.mechanism.registry import build_mechanism
from robot.planner.scan import ScanPlan, plan_scan
from robot.settings import RobotProfile, load_profile
from robot.settings.profile import for_cube, sizes_of
from robot.text.faults import RobotError, ScanError
from robot.twin.cube import scrambled
from robot.twin.misadjustment import Misadjustment
from robot.twin.studio import Studio
from tests.rig import scans
from tests.rig.cameras import SceneCamera
from tests.rig.corner_scenes import read_corners_outcome, render_corners
from tests.rig.pins import PinDriver
from tests.rig.scans import classic, known_sets, mistakes, synthetic_scan, turned
from tests.rig.scenes import (
    FACES,
    LIGHTS,
    SCENES,
    RenderedCube,
    is_right,
    outcome_of,
    read_outcome,
    render_cube,
    render_plain_face,
    render_scene,
)
from tests.rig.spoilt import FLAWS, Flaw, spoil, told
from vision.decide.assignment import orbits
from vision.decide.reader import read_cube
from vision.frame import Image
from vision.locate.face import locate_grids
from vision.measure.sticker_colours import StickerColours

# ---- scans as the demonstration makes them, without its processes and without waiting -----------
#
# The simulated robot moves along the tour that the planner made for it, its cameras take their
# pictures, and the scanner locates, measures and reads them.

ROBOTS = (
    *("cubotino", "mindcuber", "two-arm", "two-arm-2x2x2"),
    *("four-arm", "six-motor", "cubotone", "crane"),
)


class Scene:
    """The room that a seed produces. ``jpeg``: quality of the pictures (None: as taken).

    ``calibrated``: the faces are where the profile says, if the cameras stand as drawn. Otherwise
    the scanner searches for them, which does not work with cameras that see several faces.
    ``harsh`` multiplies everything that spoils the pictures.
    """

    def __init__(self, seed: int, harsh: float = 1.0) -> None:
        rng = np.random.default_rng([seed, 19])
        self.robot = ROBOTS[seed % len(ROBOTS)]
        several = any(len(camera.views) > 1 for camera in load_profile(self.robot).cameras)
        self.calibrated = bool(rng.integers(2)) or several
        shared = rng.uniform(0.4, 1.0) ** harsh
        red, green, blue = (shared * rng.uniform(0.75, 1.0, 3)).tolist()
        self.gains = (red, green, blue)
        self.size = int(rng.choice(sizes_of(load_profile(self.robot))))
        most = 0.4 if self.calibrated else 1.5
        self.misadjusted = Misadjustment(seed, harsh * float(rng.uniform(0, most)))
        self.noise = harsh * float(rng.uniform(0, 8))
        self.jpeg = int(rng.integers(50, 96)) if rng.integers(2) else None
        self.glare = harsh * float(rng.uniform(0, 0.8)) if rng.random() < 0.4 else 0.0
        self.glare_at = (float(rng.uniform(0.2, 0.8)), float(rng.uniform(0.2, 0.8)))


@cache
def _robot(name: str, size: int) -> tuple[RobotProfile, ScanPlan]:
    mechanism = build_mechanism(for_cube(load_profile(name), size))
    return mechanism.profile, plan_scan(mechanism)


class StudioCamera(SceneCamera):
    """One camera of the simulated robot, with its pictures compressed as cameras may do."""

    def __init__(self, studio: Studio, name: str, scene: Scene) -> None:
        super().__init__(self._shoot, name, period_us=100_000)
        self.calibrated = scene.calibrated
        self._studio, self._jpeg = studio, scene.jpeg

    def _shoot(self, _time_us: int, _factor: float) -> Image:
        image = self._studio.shoot(self.name).image
        if self._jpeg is not None:
            quality = [cv2.IMWRITE_JPEG_QUALITY, self._jpeg]
            packed = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), quality)[1]
            image = cv2.cvtColor(cv2.imdecode(packed, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
        return image.astype(np.uint8, copy=False)


def robot_outcome(seed: int, harsh: float = 1.0) -> str:
    scene = Scene(seed, harsh)
    profile, tour = _robot(scene.robot, scene.size)
    simulation = profile.simulation.model_copy(update={"picture_noise": min(50.0, scene.noise)})
    profile = profile.model_copy(update={"simulation": simulation})
    body = scrambled(scene.size, seed)
    pins = PinDriver(profile, body)
    # The mechanism is as drawn, but its cameras, the light and the cube's colours are not.
    pins.robot.misadjusted = scene.misadjusted
    studio = Studio(pins.robot, seed)
    studio.colour_cast(scene.gains)
    studio.glare(scene.glare, scene.glare_at)
    cameras = {camera.name: StudioCamera(studio, camera.name, scene) for camera in profile.cameras}
    scanner = Scanner(profile, cameras)
    with contextlib.closing(scanner):
        found = outcome_of(
            lambda: scanner.read(_looked_around(pins, scanner, tour)),
            body.facelets(),
            (ScanError, RobotError),
        )
    assert not pins.robot.violations, pins.robot.violations
    return found


def _looked_around(pins: PinDriver, scanner: Scanner, tour: ScanPlan) -> list[FaceImage]:
    images: list[FaceImage] = []
    for number, step in enumerate(tour.steps):
        if step.moves:
            pins.play(step.plan.schedule())
        taken = scanner.take(step.looks)
        if number == 0:
            scanner.check_view(taken)
        images += [image.reduce() for image in taken]
    return images


# ---- cases --------------------------------------------------------------------------------------

Case = tuple[str, str, Callable[[], str]]
"""The group in which it counts, its name, and the function that returns its outcome."""


def rendered(seed: int, harsh: float) -> Iterator[Case]:
    """Yield whole cubes from photographs: odd seeds 3x3x3, even ones 2x2x2."""
    size = 3 if seed % 2 else 2
    cube = partial(render_cube, seed, size, harsh=harsh)
    yield f"{size}x{size}x{size}", str(seed), lambda: read_outcome(cube())


def corners(seed: int, harsh: float) -> Iterator[Case]:
    """Yield whole cubes of 2 to 5 layers from two photographs of opposite corners."""
    size = 2 + seed % 4
    cube = partial(render_corners, seed, size, harsh=harsh)
    yield f"{size}x{size}x{size}", str(seed), lambda: read_corners_outcome(cube())


def synthetic(seed: int, harsh: float) -> Iterator[Case]:
    """Yield scans at the level of sticker colours."""
    yield "3x3x3", str(seed), lambda: scans.reading_of(synthetic_scan(seed, 3, harsh))


def robots(seed: int, harsh: float) -> Iterator[Case]:
    """Yield whole cubes seen by the cameras of simulated robots."""
    yield ROBOTS[seed % len(ROBOTS)], str(seed), partial(robot_outcome, seed, harsh)


def faces(seed: int, harsh: float) -> Iterator[Case]:
    """Yield six faces of a cube of each size, without giving the size."""
    for size, face in product(range(2, 8), FACES):
        cube = partial(render_cube, seed, size, harsh=harsh, faces=face)
        yield f"{size}x{size}x{size}", f"{size} {face} {seed}", partial(_located, cube, face)


def scenes(seed: int, _: float) -> Iterator[Case]:
    """Yield single faces as people photograph them, without giving the size."""
    face = FACES[seed % 6]
    for kind in SCENES:
        cube = partial(render_scene, kind, seed, 2 + seed % 2, face)
        yield kind, f"{kind} {seed}", partial(_located, cube, face)


def reasons(seed: int, _: float) -> Iterator[Case]:
    """Yield rendered sets with every flaw: right if read, or if the true cause is named."""
    size = 3 if seed % 3 else 2
    for flaw in FLAWS:
        yield flaw.name, f"{flaw.name} {seed}", partial(_explained, seed, size, flaw)


def _explained(seed: int, size: int, flaw: Flaw) -> str:
    outcome, found = told(spoil(render_cube(seed, size, max_tilt=25), flaw, seed)[0])
    if outcome in ("right", "wrong"):
        return outcome
    named = "nothing" if found is None else str(found.trouble)
    return "right" if named == flaw.cause else named


def plain(seed: int, _: float) -> Iterator[Case]:
    """Yield stickerless faces with 7, 8 and 9 pieces of one colour, without giving the size."""
    for light, pieces in product(LIGHTS, (7, 8, 9)):
        cube = partial(render_plain_face, seed, light, pieces)
        yield light, f"{light} {pieces} {seed}", partial(_located, cube, "F")


def _located(render: Callable[[], RenderedCube], face: str) -> str:
    cube = render()
    grids = locate_grids(cube.frames[face].image)
    if not grids:
        return "none"
    if is_right(grids[0], cube, face):
        return "right"
    return "among others" if any(is_right(grid, cube, face) for grid in grids) else "another"


def mixed_up(size: int, _: float) -> Iterator[Case]:
    """Yield every real set of a size with every mistake."""
    for real, mistake in product(known_sets(size), mistakes()):
        place = f"{mistake.source} {mistake.turns} {mistake.mirrored}"
        case = partial(scans.outcome, real.colours, real.facelets, mistake)
        yield f"{size}x{size}x{size}", f"{real.name} {place}", case


def put_wrongly(size: int, _: float) -> Iterator[Case]:
    """Yield every real set of a size as impossible cubes: each edge flipped, each corner twisted.

    For a 3x3x3 also with each piece exchanged with the next of its kind. Larger cubes and the 2x2x2
    exist with any two pieces exchanged.
    """
    for orbit in orbits(size):
        if orbit.kind not in ("corner", "edge"):
            continue
        wrong = {"turned": [(slot, np.roll(slot, 1)) for slot in orbit.facelets]}
        if size == 3:
            a, b = orbit.facelets, np.roll(orbit.facelets, 1, axis=0)
            wrong["exchanged"] = [(np.r_[x, y], np.r_[y, x]) for x, y in zip(a, b, strict=True)]
        for real, (fault, places) in product(known_sets(size), wrong.items()):
            for place, source in places:
                order = np.arange(6 * size * size)
                order[place] = source
                case = partial(_impossible, scans.permuted(real.colours, order), real.facelets)
                group = f"{size}x{size}x{size} {orbit.kind} {fault}"
                yield group, f"{real.name} {place.tolist()}", case


def _impossible(colours: StickerColours, unturned: str) -> str:
    """Return the outcome of reading an impossible cube: any confident reading is wrong."""
    found = outcome_of(lambda: read_cube(colours), unturned)
    return "wrong" if found == "right" else found


def two_turns(number: int, _: float) -> Iterator[Case]:
    """Yield one of the 243 cubes two turns from solved with any picture turned."""
    moves, truth = scans.two_turns_from_solved()[number]
    for face, quarters in product(FACES, (1, 2, 3)):
        case = partial(scans.outcome, classic(truth), truth, turned(face, quarters))
        yield "two turns", f"{moves} with {face} turned {quarters}", case


KINDS = {
    "rendered": rendered,
    "corners": corners,
    "synthetic": synthetic,
    "robots": robots,
    "faces": faces,
    "scenes": scenes,
    "plain": plain,
    "reasons": reasons,
    "mistakes": mixed_up,
    "put-wrongly": put_wrongly,
    "two-turns": two_turns,
}


def campaign(
    kind: str,
    numbers: range,
    least: float,
    harsh: float = 1.0,
    often: range | None = None,
) -> Callable[[range], None]:
    """Return a long test of a campaign's cases, in steps of ``numbers``.

    ``least``: the fraction of a step's readings that must be right. ``often``: ``make test`` runs
    the cases of these numbers.
    """
    steps = [
        pytest.param(range(first, first + numbers.step), id=str(first), marks=pytest.mark.long)
        for first in numbers
    ]

    @pytest.mark.timeout(1800)
    @pytest.mark.parametrize("step", [*steps, *([] if often is None else [often])])
    def test(step: range) -> None:
        found = {
            f"{group} {name}": outcome_of()
            for number in step
            for group, name, outcome_of in KINDS[kind](number, harsh)
        }
        assert [name for name, outcome in found.items() if outcome == "wrong"] == []
        counts = Counter(found.values())
        assert counts["right"] >= least * counts.total(), counts

    return test


test_cubes_are_read_from_photographs = campaign("rendered", range(20_000, 24_000, 100), 0.93)
test_cubes_are_read_from_two_corners = campaign(
    "corners", range(30_000, 31_000, 100), 0.93, often=range(40_000, 40_016)
)
test_first_looks_are_right = campaign("synthetic", range(0, 10_000, 500), 0.97)
test_robots_read_their_cubes = campaign("robots", range(1_000, 11_000, 100), 0.9)
test_robots_in_harsh_light = campaign("robots", range(1_000, 3_000, 100), 0.0, harsh=2.0)
test_robots_in_very_harsh_light = campaign("robots", range(1_000, 3_000, 100), 0.0, harsh=3.0)
test_faces_of_every_size_are_found = campaign(
    "faces", range(0, 150, 10), 0.95, often=range(1000, 1003)
)
test_faces_are_found_in_every_scene = campaign("scenes", range(0, 200, 10), 0.5)
test_stickerless_faces_of_one_colour_are_found = campaign("plain", range(0, 60, 10), 0.98)
test_reasons_are_true = campaign("reasons", range(830_000, 830_060, 10), 0.9)
test_every_real_set_with_every_mistake = campaign("mistakes", range(2, 8), 0.5)
test_every_real_set_with_a_piece_put_in_wrongly = campaign("put-wrongly", range(2, 8), 0.0)
test_two_turns_from_solved_with_any_picture_turned = campaign("two-turns", range(0, 243, 27), 0.85)


FEW = [ROBOTS.index(name) for name in ("cubotino", "four-arm", "six-motor", "crane")]


@pytest.mark.parametrize("seeds", [FEW, pytest.param(range(len(ROBOTS)), marks=pytest.mark.long)])
def test_every_robot_reads_its_cube(seeds):
    """Use some robots with calibrated views and some that search."""
    assert {Scene(seed).robot for seed in seeds} == {ROBOTS[seed] for seed in seeds}
    assert {Scene(seed).calibrated for seed in range(len(ROBOTS))} == {True, False}
    assert [(seed, robot_outcome(seed)) for seed in seeds] == [(seed, "right") for seed in seeds]


def test_what_is_too_poor_to_read_is_not_read_surely():
    """Displace the cameras, add lamps and noise: hardly a cube is visible."""
    found = Counter(robot_outcome(seed, harsh=6.0) for seed in FEW)
    assert found["wrong"] == 0
    assert found["refused"] > 0


@pytest.mark.parametrize(
    ("seed", "harsh"),
    [
        # The camera sees the lamp in the middle of each face, so that all centres look alike.
        (50_008, 2.0),
        # A 6x6x6 with an orange and a blue wing in the lamp's reflection.
        (9_911, 1.0),
    ],
)
def test_a_lamp_that_hides_centres_or_wings_makes_no_sure_reading(seed, harsh):
    assert robot_outcome(seed, harsh).startswith("unsure")


@pytest.mark.parametrize(
    ("seed", "size"),
    [
        (932_003, 3),  # a green sticker under a reflection
        (932_006, 2),  # a white one with a green logo
        (930_407, 3),  # a red and an orange one under reflections
    ],
)
def test_drowned_stickers_without_a_partner_are_no_exchange(seed, size):
    assert read_outcome(render_cube(seed, size)) == "right"


def rows_of(file: Path) -> list[dict[str, object]]:
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text().splitlines()]


def main() -> None:
    """Append the outcomes of the missing cases, then print the sums by group."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--harsh", type=float, default=1.0)
    wanted = parser.parse_args()
    done = {(row["group"], row["case"]) for row in rows_of(wanted.file)}
    with wanted.file.open("a") as out:
        for number in range(wanted.first, wanted.first + wanted.count):
            for group, name, outcome_of in KINDS[wanted.kind](number, wanted.harsh):
                if (group, name) not in done:
                    start = time.process_time()
                    row = {"group": group, "case": name, "outcome": outcome_of()}
                    row["cpu_s"] = round(time.process_time() - start, 4)
                    print(json.dumps(row), file=out, flush=True)
    rows = rows_of(wanted.file)
    for group in sorted({str(row["group"]) for row in rows}):
        counts = Counter(str(row["outcome"]) for row in rows if row["group"] == group)
        share = f"{counts['right'] / counts.total():.2%} of {counts.total()} right"
        print(f"{group}: {share}; {dict(counts)}")
    for row in rows:
        if row["outcome"] == "wrong":
            print(f"wrong: {row['case']}")


if __name__ == "__main__":
    cv2.setNumThreads(1)
    main()
