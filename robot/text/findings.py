"""Findings of the check-up (``cubist doctor``, the owner's page) and their remedies, by code."""

from __future__ import annotations

from collections.abc import Mapping

FINDINGS: Mapping[str, str] = {
    # Boards and their ports.
    "path-missing": "{path} does not exist",
    "no-permission": "{path}: no permission",
    "no-board-found": "no board is found; serial ports: {ports}",
    "plug-board-in": (
        "Plug the board in; check its USB cable and power. If there are several serial ports, name "
        "the right one in the profile: link.port."
    ),
    "join-dialout": "Join its group: sudo usermod -aG dialout $USER, then log in again.",
    "same-port": "{board}: {path} is also the port of {other}",
    "name-ports": (
        "Name each port in the profile: link.port, and port of every board below boards."
    ),
    "changing-port": "{board}: {path} is whichever board was found first",
    "name-port": "Label the cable, and set in the profile: {key}: {path}",
    "find-port": "In the profile, set {key} to its name below {folder}",
    "wrong-firmware": "{found} on the board, {expected} expected",
    "firmware-runs": "{version} on {chip}",
    "pico-waits": "a Pico is in its bootloader and waits for a firmware",
    # Servos at the Raspberry Pi.
    "config-missing": "there is no config.txt below {folder}",
    "mount-boot": "On a Raspberry Pi, mount its boot partition at {folder}.",
    "look-as-root": "Check it as root: sudo cubist doctor",
    "no-pwm": "config.txt: no PWM at GPIO {gpios}",
    "no-pwm-pca9685": "config.txt: no PWM at the PCA9685",
    "i2c-off": "config.txt: I2C is off, but the PCA9685 needs it",
    "audio-on": (
        "config.txt: the analogue audio output is on, which uses the same PWM as the servos"
    ),
    "other-pwm": "line {line} of config.txt sets PWM up, but not for GPIO {gpios}",
    "replace-line": "Replace that line by: {line}",
    "add-line": "sudo cubist doctor --fix adds this line: {line}",
    "config-right": "{path} sets up what the servos need",
    "no-channels": "there are no PWM channels, though config.txt asks for them",
    "restart-pi": "Restart the Pi, so that it takes effect: sudo reboot",
    "no-maestro": "there is no Pololu Maestro at {path}",
    "plug-maestro-in": (
        "Plug it into USB; if it is on a UART, name that in CUBIST_BOARD_OPTIONS in "
        "/etc/cubist/cubistd.env. A new one needs the serial mode USB Dual Port: see the page on "
        "wiring."
    ),
    # Users and groups.
    "no-service": "Cubist is not installed as a service",
    "install-service": "sudo make install, in a checkout of Cubist",
    "service-not-in-gpio": "the service's user {user} is not in the group gpio",
    "make-users": "sudo systemd-sysusers cubist.conf, then sudo systemctl restart cubist-board",
    "you-not-in-group": "you are not in the group {group}, which may use the robot",
    "join-group": "sudo usermod -aG {group} $USER, then log in again.",
    # The library for button, light and buzzer.
    "gpio-works": "the GPIO library works",
    "gpio-old": "the GPIO library is out of date",
    "replace-gpio": (
        "This is the old library RPi.GPIO, which works neither on a Raspberry Pi 5 nor with Linux "
        "6.6 or newer. Replace it: {command}"
    ),
    "install-gpio": (
        "On a Raspberry Pi: {command}. Without it only the command line works. On a computer "
        "without pins, use the simulated robot."
    ),
    "install-gpio-again": "Install it again: {command}",
    "no-pins": "On a computer without pins, use the simulated robot.",
    "old-revision": (
        "It does not know this Raspberry Pi's old revision code. Give it the new one of a Pi with "
        "the same pins, for a Pi 2 RPI_LGPIO_REVISION=a01041 (for the service in "
        "/etc/cubist/cubistd.env)."
    ),
    "gpio-folder": "It must be able to write to the folder that LG_WD names: {folder}",
    "open-chip": (
        "See `ls -l /dev/gpiochip*`: it must exist, and its group gpio must be one of yours (sudo "
        "usermod -aG gpio $USER, then log in again)."
    ),
    "use-pin": (
        "Check that the pin exists, that no other program uses it (`gpioinfo` shows who does), and "
        "the pin numbers under `panel:` in the profile."
    ),
    # Disk, clock, power.
    "disk-free": "{free} MB free at {folder}",
    "disk-full": "Remove old files; `sudo apt clean` helps.",
    "not-writable": "{folder}: not writable by you",
    "belongs-to-service": "It belongs to the service.",
    "clock-wrong": "the clock says {time}",
    "connect-once": "Connect to a network once.",
    "power-unknown": "cannot be read (not a Raspberry Pi?)",
    "power-fine": "voltage and temperature are fine",
    "voltage-low-now": "the supply voltage is too low now",
    "capped-now": "the processor's frequency is capped now",
    "throttled-now": "the processor is throttled now",
    "voltage-low-before": "the supply voltage has been too low at times since the start",
    "throttled-before": "the processor has been throttled at times since the start",
    "better-power": (
        "Use the official power supply; give the motors one of their own; cool the Pi."
    ),
    # The daemon, its robot and its drivers.
    "no-daemon": "cubistd cannot be reached",
    "daemon-state": "cubistd {version}: {state}",
    "robot-simulated": (
        "{robot} is simulated; `cubist doctor --robot NAME` checks this computer instead"
    ),
    "simulate-again": "end `cubist simulate` and start it again",
    "driver-not-set-up": "{actuator}: not set up",
    "home-for-fault": "`cubist home` shows its fault",
    "driver-hot": "{actuator}: above {celsius} °C",
    "cool-driver": "lower driver.run_ma or driver.hold_ma in the profile, or add a fan",
    "driver-works": "{actuator}: current {current}/32, StallGuard {load}",
    # Calibration, and drift since.
    "calibrated-version": "calibration: version {version}, {what} {at}, {count} values",
    "not-calibrated": "nothing is calibrated: {robot} has the values of its profile",
    "least-sure": "least sure, each within: {values}",
    "places-unconfirmed": "not confirmed on this robot: {places} (`cubist calibrate`)",
    "places-unconfirmed-more": (
        "not confirmed on this robot: {places} and {count} more (`cubist calibrate`)"
    ),
    "steps-left": "steps of calibration not done: {steps}",
    "made-auto": "measured by `auto`",
    "made-person": "set by a person",
    "made-import": "imported",
    "made-drift": "corrected by the robot itself",
    "made-learned": "learned from solved cubes",
    "made-earlier": "kept by an earlier release",
    "made-restore": "restored",
    "drifted": "{actuator} {position} has moved {degrees} degrees since {since} ({solves} solves)",
    "drifted-corrected": (
        "{actuator} {position} has moved {degrees} degrees since {since} ({solves} solves), "
        "{corrected} of them corrected"
    ),
}
"""English by code. The parameter ``what`` is the code of another finding."""
