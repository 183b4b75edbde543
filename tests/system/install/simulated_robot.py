"""A robot for the container, run by systemd: firmware and simulated robot at cubistd.env's link.

The scenario acts through files in its folder: ``press`` holds the button down for the number of
seconds in it, ``verdict`` is read.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from robot.settings import load_profile
from tests.rig.workbench import workbench

SPEED = 10
"""Fast, but slow enough that a solve takes seconds and things can happen in the middle of it."""


async def main(folder: Path) -> None:
    """Run until killed. The file ``ready`` appears when a daemon may start."""
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
