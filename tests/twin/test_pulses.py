"""Pulses that a chip makes by itself: when their edges come, and what changes them."""

from __future__ import annotations

import pytest

from robot.twin.pulses import PulseMaker

RUN, HALT = 0, -1
PERIOD_US = 20_000.0


class Chip(PulseMaker):
    """What is written is a width in microseconds, or that periods begin or end."""

    def __init__(self, *pins: int) -> None:
        self.edges: list[tuple[float, int, bool]] = []
        super().__init__(lambda time_us, pin, level: self.edges.append((time_us, pin, level)))
        for pin in pins:
            self._add_train(pin).period_us = PERIOD_US

    def close(self) -> None:
        """Nothing to unplug."""

    def _take(self, time_us: float, pin: int, place: int) -> None:
        train = self._trains[pin]
        if place == RUN:
            train.run(time_us)
        elif place == HALT:
            train.halt()
        else:
            train.width_us = place

    def run(self, time_us: float, pin: int, width_us: int) -> None:
        """Pulses so wide begin."""
        self.write(time_us, pin, width_us)
        self.write(time_us, pin, RUN)

    def fresh(self) -> list[tuple[float, int, bool]]:
        """Edges since the last time."""
        edges, self.edges = self.edges, []
        return edges


def test_a_pulse_is_as_wide_as_told_and_comes_each_period() -> None:
    chip = Chip(9)
    chip.run(100.0, 9, 1500)
    chip.advance(20_100.0)
    assert chip.fresh() == [(100.0, 9, True), (1600.0, 9, False), (20_100.0, 9, True)]
    chip.write(20_200.0, 9, 700)  # the pulse under way is no shorter for that
    chip.advance(21_599.9)
    assert chip.fresh() == []
    chip.advance(21_600.0)
    assert chip.fresh() == [(21_600.0, 9, False)]
    chip.advance(50_000.0)
    assert chip.fresh() == [(40_100.0, 9, True), (40_800.0, 9, False)]


def test_edges_of_several_channels_come_in_their_order() -> None:
    chip = Chip(5, 6)
    chip.run(0.0, 5, 9000)
    chip.run(0.0, 6, 500)
    chip.advance(19_000.0)
    assert chip.fresh() == [
        (0.0, 5, True),
        (7919.0, 6, True),
        (8419.0, 6, False),
        (9000.0, 5, False),
    ]
    chip.write(19_000.0, 6, HALT)
    chip.run(20_000.0 - 7919.0 + 20_000.0, 6, 500)  # both rise at once now: the lower pin first
    chip.advance(40_000.0)
    assert [edge for edge in chip.fresh() if edge[0] == 40_000.0] == [
        (40_000.0, 5, True),
        (40_000.0, 6, True),
    ]


def test_without_a_width_there_is_no_pulse_but_the_periods_go_on() -> None:
    chip = Chip(9)
    chip.write(0.0, 9, RUN)
    chip.advance(50_000.0)
    assert chip.fresh() == []
    chip.write(50_000.0, 9, 1000)
    chip.advance(80_000.0)
    assert chip.fresh() == [(60_000.0, 9, True), (61_000.0, 9, False), (80_000.0, 9, True)]


@pytest.mark.parametrize("at_us", [20_500.0, 22_000.0])
def test_pulses_go_on_when_the_firmware_boots_again(at_us: float) -> None:
    """In a pulse, and between two: only the clock they are told by is another."""
    chip = Chip(9)
    chip.run(0.0, 9, 1000)
    chip.advance(at_us)
    chip.advance(at_us - 5000.0)  # time does not go back
    before = chip.fresh()
    chip.restart()
    chip.advance(45_000.0)
    edges = before + [(time_us + at_us, pin, level) for time_us, pin, level in chip.fresh()]
    begun = [time_us for time_us, _, _ in edges[::2]]
    assert begun == [0.0, 20_000.0, 40_000.0, 60_000.0]
    assert [time_us for time_us, _, _ in edges[1::2]] == [time_us + 1000.0 for time_us in begun]
    assert [level for _, _, level in edges] == [True, False] * 4
    chip.restart()
    chip.write(15_000.0, 9, HALT)
    assert [time_us for time_us, _, level in chip.fresh() if level][:1] == [
        pytest.approx(80_000.0 - at_us - 45_000.0)
    ]
