"""A robot for the container: firmware and simulated robot where cubistd.env says; run by systemd.

Files in its folder are the scenario's hands: ``press`` holds the button down for the seconds it
contains, ``verdict`` is read.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from robot.settings import load_profile
from tests.rig.workbench import workbench

SPEED = 10
"""Fast, but a solve still takes seconds, in the middle of which things can happen."""


async def main(folder: Path) -> None:
    """Stand until killed; the file ``ready`` says when a daemon may come."""
    folder.mkdir(exist_ok=True)
    os.umask(0)
    async with workbench(load_profile("cubotino"), folder, speed=SPEED) as bench, bench.firmware():
        (folder / "link").resolve().chmod(0o666)
        (folder / "ready").touch()
        robot, button = bench.robot, bench.profile.panel.start_button_gpio
        assert button is not None
        while True:
            await asyncio.sleep(0.1)
            if (folder / "press").exists():
                held_s = float((folder / "press").read_text())
                (folder / "press").unlink()
                await bench.server.panel.press(button, held_s)
            verdict = folder / "verdict.new"
            found = f"solved={robot.solved} moving={robot.moving} violations={robot.violations}"
            verdict.write_text(found)
            verdict.rename(folder / "verdict")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
