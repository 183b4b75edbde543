"""TMC2209 stepper drivers, simulated from their data sheet: registers, UART, StallGuard, faults.

They share a wire and answer at their addresses. A driver starts with its reset values, counts the
writes it receives, measures its motor's load once a full step, and switches itself off at faults
that would damage it. It does not read the profile: its motor's behaviour depends only on its
registers.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag


class Register(IntEnum):
    """Numbers of registers."""

    GCONF = 0x00
    GSTAT = 0x01
    IFCNT = 0x02
    SLAVECONF = 0x03
    IOIN = 0x06
    IHOLD_IRUN = 0x10
    TPOWERDOWN = 0x11
    TSTEP = 0x12
    TPWMTHRS = 0x13
    TCOOLTHRS = 0x14
    VACTUAL = 0x22
    SGTHRS = 0x40
    SG_RESULT = 0x41
    COOLCONF = 0x42
    CHOPCONF = 0x6C
    DRV_STATUS = 0x6F
    PWMCONF = 0x70


class GlobalStatus(IntFlag):
    """Bits of GSTAT. The last shows the present state, the others stay set until written."""

    RESET = 1
    DRIVER_ERROR = 2
    UNDERVOLTAGE = 4


class DriverStatus(IntFlag):
    """Bits of DRV_STATUS."""

    OVER_120_C = 1 << 0 | 1 << 8
    OVERHEATED = 1 << 1 | 1 << 11
    GROUND_A = 1 << 2
    GROUND_B = 1 << 3
    SUPPLY_A = 1 << 4
    SUPPLY_B = 1 << 5
    OPEN_A = 1 << 6
    OPEN_B = 1 << 7
    STEALTHCHOP = 1 << 30
    AT_REST = 1 << 31


NOTHING = DriverStatus(0)
SHUTDOWNS = (
    DriverStatus.OVERHEATED
    | DriverStatus.GROUND_A
    | DriverStatus.GROUND_B
    | DriverStatus.SUPPLY_A
    | DriverStatus.SUPPLY_B
)
"""Faults at which the driver switches itself off."""

AFTER_RESET = {
    Register.GCONF: 0x41,
    Register.SLAVECONF: 0,
    Register.IHOLD_IRUN: 0x11F10,
    Register.TPOWERDOWN: 20,
    Register.TPWMTHRS: 0,
    Register.TCOOLTHRS: 0,
    Register.VACTUAL: 0,
    Register.SGTHRS: 0,
    Register.COOLCONF: 0,
    Register.CHOPCONF: 0x10000053,
    Register.PWMCONF: 0xC10D0024,
}
"""Writable registers, with their values after a reset."""
VERSION = 0x21 << 24
SPREADCYCLE, MICROSTEPS_BY_REGISTER = 1 << 2, 1 << 7
MICROSTEPS_BY_ADDRESS = (8, 32, 64, 16)
"""Microsteps by address if CHOPCONF does not set them: the address pins select both."""
SYNC, MASTER, WRITE = 0x05, 0xFF, 0x80
READ_BYTES, WRITE_BYTES = 4, 8
CLOCK_HZ = 12e6
FINEST = 256
LONGEST_TSTEP = (1 << 20) - 1
AT_REST_US = LONGEST_TSTEP / CLOCK_HZ * 1e6
"""Time without a step after which a driver reports its motor at rest."""

LARGEST_LOAD = 510
HALF_SPEED = 60.0
"""Full steps/s at which an unloaded motor induces half of the voltage that means no load."""
UNSETTLED_FULL_STEPS = 4
"""Full steps after the start of a motor for which its load is unknown."""
PAUSE = 3
"""Number of intervals without a step after which a motor has stopped."""
LOAD_NOISE = 8


def crc8(data: bytes) -> int:
    """Return the checksum of a datagram: polynomial x^8 + x^2 + x + 1, low bits first."""
    crc = 0
    for byte in data:
        for bit in range(8):
            differs = (crc >> 7) ^ (byte >> bit & 1)
            crc = (crc << 1 & 0xFF) ^ (0x07 if differs else 0)
    return crc


@dataclass
class Tmc2209:
    """One driver with its motor.

    ``friction``: fraction of the motor's torque that its load takes.
    """

    address: int
    friction: float = 0.2
    seed: int = 0
    silent: bool = False
    undervoltage: bool = False
    troubles: DriverStatus = NOTHING
    registers: dict[Register, int] = field(default_factory=lambda: dict(AFTER_RESET))
    load: int = 0
    writes: int = 0
    has_lost_settings: bool = False
    """True from a reset until the board has set it up again."""
    _flags: GlobalStatus = GlobalStatus.RESET
    _stepped_us: float = -math.inf
    _interval_us: float = math.inf
    _substeps: float = 0.0
    _full_steps: int = 0
    _now_us: float = 0.0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    @property
    def microsteps(self) -> int:
        """The number of the board's steps in a full step."""
        if not self.registers[Register.GCONF] & MICROSTEPS_BY_REGISTER:
            return MICROSTEPS_BY_ADDRESS[self.address]
        return int(256 >> (self.registers[Register.CHOPCONF] >> 24 & 0xF))

    @property
    def is_on(self) -> bool:
        """True if it powers its motor when enabled."""
        chops = self.registers[Register.CHOPCONF] & 0xF
        return bool(chops) and not self.undervoltage and not self.troubles & SHUTDOWNS

    @property
    def current_scale(self) -> int:
        """The scale of the current in motion, 0 to 31."""
        return self.registers[Register.IHOLD_IRUN] >> 8 & 0x1F

    def reset(self) -> None:
        """Lose the settings, as after a dip of the supply."""
        self.registers = dict(AFTER_RESET)
        self.writes = 0
        self.has_lost_settings = True
        self._flags |= GlobalStatus.RESET

    def suffer(self, trouble: DriverStatus) -> None:
        """Add a fault; those in :data:`SHUTDOWNS` switch the driver off."""
        self.troubles |= trouble
        if trouble & SHUTDOWNS:
            self._flags |= GlobalStatus.DRIVER_ERROR

    def mend(self) -> None:
        """Remove all faults."""
        self.silent = self.undervoltage = False
        self.troubles = NOTHING

    def pass_time(self, now_us: float) -> None:
        """Record the time, which shows when its motor is at rest."""
        self._now_us = max(self._now_us, now_us)

    def step(self, time_us: float, lag: float) -> None:
        """Take a step pulse; ``lag``: full steps of the rotor behind its field after it."""
        before, self._interval_us = self._interval_us, time_us - self._stepped_us
        self._stepped_us = self._now_us = time_us
        if self._interval_us > PAUSE * before:
            self._full_steps = 0
        self._substeps += 1 / self.microsteps
        if self._substeps >= 1:
            self._substeps -= 1
            self._full_steps += 1
            self._measure(lag)

    @property
    def tstep(self) -> int:
        """The clock cycles between two of the finest microsteps."""
        if self._now_us - self._stepped_us > AT_REST_US:
            return LONGEST_TSTEP
        cycles = self._interval_us * 1e-6 * CLOCK_HZ * self.microsteps / FINEST
        return min(LONGEST_TSTEP, round(min(cycles, LONGEST_TSTEP)))

    @property
    def diagnosis(self) -> bool:
        """The level of DIAG: true if the motor stalls, or the driver has switched itself off."""
        return self._has_stalled or bool(self._flags & GlobalStatus.DRIVER_ERROR)

    @property
    def _is_stealthy(self) -> bool:
        is_slow = self.tstep > self.registers[Register.TPWMTHRS]
        return not self.registers[Register.GCONF] & SPREADCYCLE and is_slow

    @property
    def _has_stalled(self) -> bool:
        measures = self._is_stealthy and self.tstep <= self.registers[Register.TCOOLTHRS]
        return measures and self.load <= 2 * self.registers[Register.SGTHRS]

    def _measure(self, lag: float) -> None:
        """Measure the load, as at the end of each full step: the motor's induction less the share
        of its load, and 0 while the rotor is stalled."""
        if self._full_steps <= UNSETTLED_FULL_STEPS:
            self.load = self._random.randrange(LARGEST_LOAD // 4)
            return
        speed = 1e6 / self._interval_us / self.microsteps
        unloaded = LARGEST_LOAD * speed / (speed + HALF_SPEED)
        free = (1 - self.friction) * max(0.0, 1 - abs(lag))
        noise = self._random.uniform(-LOAD_NOISE, LOAD_NOISE)
        self.load = round(min(max(unloaded * free + noise, 0), LARGEST_LOAD))

    def answer(self, datagram: bytes) -> bytes:
        """Return the answer to a datagram for this driver; a damaged one gets none."""
        if self.silent or crc8(datagram[:-1]) != datagram[-1] or datagram[0] != SYNC:
            return b""
        number = datagram[2] & ~WRITE
        if datagram[2] & WRITE:
            self._write(number, int.from_bytes(datagram[3:7], "big"))
            return b""
        head = bytes([SYNC, MASTER, number]) + self.read(number).to_bytes(4, "big")
        return head + bytes([crc8(head)])

    def read(self, number: int) -> int:
        """Return the value of a register; 0 if it cannot be read."""
        if number == Register.GSTAT:
            now = GlobalStatus.UNDERVOLTAGE if self.undervoltage else GlobalStatus(0)
            return self._flags | now
        found = {
            Register.GCONF: self.registers[Register.GCONF],
            Register.IFCNT: self.writes,
            Register.IOIN: VERSION | 1 << 8,
            Register.TSTEP: self.tstep,
            Register.SG_RESULT: self.load,
            Register.CHOPCONF: self.registers[Register.CHOPCONF],
            Register.PWMCONF: self.registers[Register.PWMCONF],
            Register.DRV_STATUS: self._status(),
        }
        return {int(key): value for key, value in found.items()}.get(number, 0)

    def _status(self) -> int:
        status = int(self.troubles) & 0xFFFF
        at_rest = self.tstep == LONGEST_TSTEP
        scale = self.registers[Register.IHOLD_IRUN] >> (0 if at_rest else 8) & 0x1F
        status |= scale << 16
        status |= int(DriverStatus.AT_REST) if at_rest else 0
        return status | (int(DriverStatus.STEALTHCHOP) if self._is_stealthy else 0)

    def _write(self, number: int, value: int) -> None:
        if number == Register.GSTAT:
            self._flags &= ~GlobalStatus(value & 3)
            self.has_lost_settings = self.has_lost_settings and not value & GlobalStatus.RESET
        elif number in AFTER_RESET:
            self.registers[Register(number)] = value
        self.writes = (self.writes + 1) % 256


class DriverLine:
    """The wire that the drivers share with a board."""

    def __init__(self) -> None:
        self.drivers: list[Tmc2209] = []

    def answer(self, now_us: float, datagrams: bytes) -> bytes:
        """Return the drivers' answers to datagrams of the board."""
        answers = b""
        for driver in self.drivers:
            driver.pass_time(now_us)
        for datagram in _split_datagrams(datagrams):
            for driver in self.drivers:
                if driver.address == datagram[1]:
                    answers += driver.answer(datagram)
        return answers


def _split_datagrams(data: bytes) -> Iterator[bytes]:
    """Yield the datagrams in received bytes, without an incomplete last one."""
    while len(data) >= READ_BYTES:
        size = WRITE_BYTES if data[2] & WRITE else READ_BYTES
        if len(data) >= size:
            yield data[:size]
        data = data[size:]
