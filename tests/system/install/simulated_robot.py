"""A robot for the container: firmware and simulated robot where cubistd.env says; run by systemd.

Files in its folder are the scenario's hands: ``press`` holds the button down for the seconds it
contains, ``verdict`` is read.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from robot.computer.board_family import executable
from robot.settings import load_profile
from robot.simulate.processes import running
from robot.twin.cube import scrambled
from robot.twin.server import SimulatedPanel, TwinServer
from robot.twin.simulated import SimulatedRobot
from robot.twin.studio import Studio

SPEED = "10"
"""Fast, but a solve still takes seconds, in the middle of which things can happen."""


async def main(folder: Path) -> None:
    """Stand until killed; the file ``ready`` says when a daemon may come."""
    folder.mkdir(exist_ok=True)
    os.umask(0)
    profile = load_profile("cubotino")
    robot, panel = SimulatedRobot(profile, scrambled(3, 5)), SimulatedPanel()
    server = TwinServer(robot, Studio(robot), panel, folder)
    link = folder / "link"
    command = [executable("cubist-firmware-host"), "--pty-link", str(link), "--speed", SPEED]
    command += ["--pins", str(server.pins["first"].path)]
    async with server.running(), running("firmware", command, folder):
        while not link.exists():
            await asyncio.sleep(0.01)
        link.resolve().chmod(0o666)
        (folder / "ready").touch()
        button = profile.panel.start_button_gpio
        assert button is not None
        while True:
            await asyncio.sleep(0.1)
            if (folder / "press").exists():
                held_s = float((folder / "press").read_text())
                (folder / "press").unlink()
                await panel.press(button, held_s)
            verdict = folder / "verdict.new"
            told = f"solved={robot.solved} moving={robot.moving} violations={robot.violations}"
            verdict.write_text(told)
            verdict.rename(folder / "verdict")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
