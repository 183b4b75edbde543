"""The simulated TMC2209, queried over its wire as its data sheet describes."""

from __future__ import annotations

import pytest

from robot.twin.tmc2209 import DriverLine, DriverStatus, GlobalStatus, Register, Tmc2209, crc8


def datagram(*data: int) -> bytes:
    return bytes(data) + bytes([crc8(bytes(data))])


def read(line: DriverLine, address: int, register: Register) -> int | None:
    answer = line.answer(0.0, datagram(5, address, register))
    return int.from_bytes(answer[3:7], "big") if answer else None


def write(line: DriverLine, address: int, register: Register, value: int) -> None:
    assert not line.answer(0.0, datagram(5, address, register | 0x80, *value.to_bytes(4, "big")))


@pytest.fixture
def line() -> DriverLine:
    line = DriverLine()
    line.drivers += [Tmc2209(0), Tmc2209(2)]
    return line


def test_a_datagram_looks_as_in_the_data_sheet(line):
    assert datagram(5, 0, Register.IOIN).hex() == "0500066f"
    answer = line.answer(0.0, datagram(5, 0, Register.IFCNT))
    assert answer == datagram(5, 0xFF, Register.IFCNT, 0, 0, 0, 0)


def test_only_the_driver_of_that_address_takes_a_write_that_arrived_whole(line):
    write(line, 2, Register.CHOPCONF, 0x14000053)
    assert [read(line, one, Register.IFCNT) for one in (0, 2)] == [0, 1]
    assert read(line, 2, Register.CHOPCONF) == 0x14000053
    damaged = bytearray(datagram(5, 2, Register.CHOPCONF | 0x80, 0, 0, 0, 0))
    damaged[4] ^= 1
    line.answer(0.0, bytes(damaged))
    assert read(line, 2, Register.IFCNT) == 1
    assert read(line, 1, Register.IFCNT) is None


def test_microsteps_are_those_of_the_register_once_that_is_chosen(line):
    driver = line.drivers[1]
    assert driver.microsteps == 64, "by the pins that make address 2"
    write(line, 2, Register.CHOPCONF, 5 << 24 | 3)
    write(line, 2, Register.GCONF, 1 << 7)
    assert driver.microsteps == 8
    driver.reset()
    assert driver.microsteps == 64


def test_flags_stay_until_they_are_written_but_undervoltage(line):
    driver = line.drivers[0]
    driver.undervoltage = True
    driver.suffer(DriverStatus.GROUND_A)
    assert not driver.is_on
    every = GlobalStatus.RESET | GlobalStatus.DRIVER_ERROR | GlobalStatus.UNDERVOLTAGE
    assert read(line, 0, Register.GSTAT) == every
    write(line, 0, Register.GSTAT, 7)
    assert read(line, 0, Register.GSTAT) == GlobalStatus.UNDERVOLTAGE
    assert (read(line, 0, Register.DRV_STATUS) or 0) & DriverStatus.GROUND_A
    driver.mend()
    assert driver.is_on


@pytest.mark.parametrize(
    ("steps_per_s", "mode", "lag", "stalls"),
    [
        (1000, 0, 0.0, False),
        (1000, 0, 0.9, True),
        (1000, 1 << 2, 0.9, False),  # SpreadCycle
        (300, 0, 0.9, False),  # slower than TCOOLTHRS allows
    ],
)
def test_stallguard_needs_stealthchop_and_speed(line, steps_per_s, mode, lag, stalls):
    driver = line.drivers[0]
    for register, value in (
        (Register.GCONF, 1 << 7 | mode),
        (Register.CHOPCONF, 5 << 24 | 3),
        (Register.GSTAT, 7),
        (Register.SGTHRS, 60),
        (Register.TCOOLTHRS, 500),
    ):
        write(line, 0, register, value)
    for number in range(100):
        driver.step(1e6 / steps_per_s * number, lag)
    assert driver.diagnosis is stalls
