"""What the kernel makes of colours, to the sixth digit as it was before: every term has its part.

The cubes are none: numbers drawn at random, for which no outcome is likelier than another. Where a
formula is meant to be another, the figures are written anew.
"""

from __future__ import annotations

import numpy as np
import pytest

from solver import _native
from vision.decide.orbits import kernel_pieces, orbits
from vision.decide.schemes import all_namings

PRIORS = {
    "falloff_precision": 40.0,
    "sticker_variance": 0.02,
    "dark_sd": 0.3,
    "shade_variance": 0.05,
    "stickers": 6.0,
    "wide_log_share": -3.0,
    "wider": 3.0,
    "glare_log_share": -3.5,
    "glare": 0.3,
    "dazzle_log_share": -4.0,
    "dazzle": 1.5,
    "strange_log_density": -7.0,
    "strict_log_density": -5.0,
}
"""In the order of the kernel's."""


def figure(*arrays: object) -> float:
    """One number in which every number of the arrays counts another way."""
    flat = np.concatenate([np.asarray(one, float).ravel() for one in arrays])
    return float(flat @ np.random.default_rng(len(flat)).uniform(0.5, 1.5, len(flat)))


class Scan:
    """Six faces of a size in light that differs from face to face, some stickers too bright."""

    def __init__(self, size: int) -> None:
        rng = np.random.default_rng(size)
        count = 6 * size * size
        self.size = size
        self.mean = rng.uniform(-2.5, -0.1, (6, 3))
        spread = rng.normal(0, 0.1, (6, 3, 3))
        self.covariance = 0.05 * np.eye(3) + spread @ spread.transpose(0, 2, 1)
        self.faces = rng.normal(0, 0.1, (6, 5))
        self.letters = np.repeat(np.arange(6), size * size)
        rng.shuffle(self.letters)
        values = self.mean[self.letters] + rng.normal(0, 0.15, (count, 3))
        values[rng.random(count) < 0.15] += 1.0
        sensitivity = rng.uniform(0.6, 1.0, (count, 3))
        clipped = (rng.random((count, 3)) < 0.1).astype(np.uint8)
        weight = np.where(rng.random(count) < 0.1, 0.0, rng.uniform(0.5, 1.0, count))
        light = rng.normal(0, 0.3, (5, 5))
        self.kernel = _native.ScanEstimator(
            np.array(list(PRIORS.values())),
            20 * np.eye(5) + light @ light.T,
            values,
            sensitivity,
            -sensitivity * rng.uniform(0, 1, (count, 1)),
            clipped,
            weight,
            rng.uniform(-1, 1, (count, 2)),
            0.02,
        )

    @property
    def model(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        return self.mean, self.covariance, self.faces, 0.2

    def evidence(self, strict: bool) -> tuple[np.ndarray, np.ndarray]:
        cost, inlier = np.empty((2, len(self.letters), 6))
        self.kernel.evidence(*self.model, strict, cost, inlier)
        return cost, inlier

    def room(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.empty((6, 3)), np.empty((6, 3, 3)), np.empty((6, 5))


EVIDENCE = {
    (2, False): [532.1164019908781, 26.03110755711739],
    (3, False): [1011.8286227629453, 75.84716177231202],
    (3, True): [822.932691963987, 67.75318556640417],
}


@pytest.mark.parametrize(("size", "strict"), EVIDENCE)
def test_what_stickers_say_of_colours(size: int, strict: bool) -> None:
    cost, inlier = Scan(size).evidence(strict)
    assert [figure(cost), figure(inlier)] == pytest.approx(EVIDENCE[size, strict], rel=1e-6)


LIGHT = {
    2: [-6.633745086978865, 2.5069762585905426, 33.957103871852624],
    3: [-10.897505431840436, 2.5038794471173964, 54.15476476043056],
}


@pytest.mark.parametrize("size", LIGHT)
def test_the_light_on_stickers_and_how_colours_spread(size: int) -> None:
    scan = Scan(size)
    lit, covariance = np.empty((6 * size * size, 3)), np.empty((6, 3, 3))
    scan.kernel.shift(scan.faces, 0.2, lit)
    scan.kernel.expected(scan.mean, covariance)
    total = scan.kernel.total_cost(*scan.model, scan.letters)
    assert [figure(lit), figure(covariance), total] == pytest.approx(LIGHT[size], rel=1e-6)


FITTED = {
    (2, 0): [-24.144905620123552, 1.2766453503951736, -0.6458637935323743, 0.2],
    (3, 1): [-25.86030545677646, 1.5136821171751143, -0.35807611172858994, 0.14686968276339987],
    (3, 4): [-26.245476650950003, 1.482703613694993, -0.3639832027237567, 0.10721678219153456],
}


@pytest.mark.parametrize(("size", "rounds"), FITTED)
def test_colours_fitted_to_known_stickers(size: int, rounds: int) -> None:
    scan = Scan(size)
    room = scan.room()
    falloff = scan.kernel.fit(*scan.model, scan.letters, rounds, *room)
    found = [*(figure(one) for one in room), falloff]
    assert found == pytest.approx(FITTED[size, rounds], rel=1e-6)


SCHEDULES = {"all rounds": (5, 0.0, 2), "until it is still": (1, 0.05, 0), "patient": (0, 9.0, 9)}
ESTIMATED = {
    (2, "all rounds"): [
        -26.835932549490824,
        3.260419814166568,
        -0.6482688767468463,
        -0.07680462468030574,
    ],
    (2, "until it is still"): [
        -26.949577174087825,
        1.934900099241033,
        -0.29256845091536915,
        -0.0007918470603253129,
    ],
    (2, "patient"): [
        -26.110575921813368,
        4.189874132196734,
        -0.11673411691168625,
        -0.16749770107435502,
    ],
    (3, "all rounds"): [
        -22.215389223334373,
        3.8605338984730073,
        -0.20985443858580535,
        0.006591389315065525,
    ],
    (3, "until it is still"): [
        -25.55381278457978,
        2.9118887652272694,
        0.029769505410351532,
        0.049170886861441436,
    ],
    (3, "patient"): [
        -24.532843748091846,
        6.5113981201575335,
        -0.02011869301945705,
        -0.18371050276772913,
    ],
}


@pytest.mark.parametrize(("size", "schedule"), ESTIMATED)
def test_colours_estimated_with_the_pieces_there_are(size: int, schedule: str) -> None:
    scan = Scan(size)
    room = scan.room()
    temperatures = np.array([8.0, 4.0, 2.0, 1.0, 1.0, 1.0])
    falloff = scan.kernel.estimate(
        *scan.model, kernel_pieces(orbits(size)), temperatures, *SCHEDULES[schedule], *room
    )
    found = [*(figure(one) for one in room), falloff]
    assert found == pytest.approx(ESTIMATED[size, schedule], rel=1e-6)


SHARES = {
    2: [24.377479761526104, 24.431504049412336],
    3: [54.04358227608255, 53.38741086430992],
    4: [97.49620621696741, 97.02366600704939],
    5: [146.34114628258246, 148.09489189117656],
}


@pytest.mark.parametrize("size", SHARES)
def test_the_shares_of_letters(size: int) -> None:
    cost = np.random.default_rng(size).uniform(0, 9, (6 * size * size, 6))
    found = []
    for temperature in (1.0, 3.0):
        share = np.empty_like(cost)
        kernel_pieces(orbits(size)).shares(cost, temperature, share)
        found.append(figure(share))
    assert found == pytest.approx(SHARES[size], rel=1e-6)


NAMINGS = {
    2: [
        35274.77796209464,
        -1,
        42.70307979207002,
        24,
        24,
        33154.56957785551,
        -1,
        41.25202708210693,
        24,
        0,
        35588.71140146281,
        -1,
        46.47124999133795,
        72,
        72,
    ],
    3: [
        74564.57345327678,
        547,
        103.17318744193206,
        2,
        2,
        67100.47627152079,
        637,
        89.34050995474011,
        1,
        1,
        77020.1966519379,
        416,
        103.58354690866423,
        1,
        1,
    ],
    4: [
        132145.0399410945,
        -1,
        176.29598378638008,
        24,
        24,
        113092.60770615266,
        -1,
        143.5540294682486,
        24,
        24,
        112426.60031807843,
        -1,
        146.54263223172558,
        24,
        0,
    ],
    5: [
        160431.33045335897,
        342,
        219.49167986657454,
        2,
        2,
        182171.84213452146,
        305,
        251.0227822561888,
        1,
        1,
        183416.92207443021,
        403,
        249.83097268010948,
        1,
        1,
    ],
}


@pytest.mark.parametrize("size", NAMINGS)
def test_the_cheapest_cubes_under_other_names_of_colours(size: int) -> None:
    """And for how few of the names it has to be found, which is what the bounds are for."""
    rng = np.random.default_rng(size)
    pieces = kernel_pieces(orbits(size))
    found: list[float] = []
    for _ in range(3):
        cost = rng.uniform(0, 9, (6 * size * size, 6))
        relaxed = pieces.relaxed_costs(cost, all_namings())
        naming, least, solved = pieces.cheapest_naming(cost, all_namings(), np.inf)
        nothing, _, tried = pieces.cheapest_naming(cost, all_namings(), least - 1e-3)
        assert nothing == -1
        # Without centres in their places several names cost the same, up to rounding.
        found += [figure(relaxed), naming if size % 2 else -1, least, solved, tried]
    assert found == pytest.approx(NAMINGS[size], rel=1e-6)


TURNED = {
    2: [176421.71861586525, 177076.71848648775, 180078.41141721193],
    3: [325510.8835970436, 336446.0536397723, 334843.9067646087],
    4: [505070.56104874494, 501626.98572410626, 507498.284232254],
}


@pytest.mark.parametrize("size", TURNED)
def test_bounds_for_pictures_that_may_be_turned(size: int) -> None:
    rng = np.random.default_rng(size)
    cost = rng.uniform(0, 9, (6 * size * size, 6))
    cells = np.arange(size * size).reshape(size, size)
    shown = np.array([np.rot90(cells, turns).ravel() for turns in range(4)])
    sources, colours = (rng.permuted(np.tile(np.arange(6), (3, 1)), axis=1) for _ in range(2))
    bounds = np.empty((3, 4096))
    kernel_pieces(orbits(size)).turned_bounds(cost, sources, colours, shown, bounds)
    assert [figure(one) for one in bounds] == pytest.approx(TURNED[size], rel=1e-6)
