"""Pages of libraries, released in a separate process that goes on as before."""

import json
import subprocess
import sys

WATCHED = """
import json
from pathlib import Path
import cv2
import numpy as np
from robot.computer.memory import find_libraries, give_back, release_library_pages

def of_files():
    fields = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in fields if line.startswith("RssFile:"))

def work():
    picture = np.arange(48 * 64 * 3, dtype=np.uint8).reshape(48, 64, 3)
    return cv2.imdecode(cv2.imencode(".png", cv2.resize(picture, (31, 17)))[1], 1).tolist()

seen, before = work(), of_files()
release_library_pages()
left, same = of_files(), work() == seen
give_back()
rows = [line.split()[:2] for line in Path("/proc/self/maps").read_text().splitlines()]
rights = {int(place.split("-")[0], 16): what for place, what in rows}
print(json.dumps({
    "before": before, "left": left, "same": same,
    "writable": [what for start, _ in find_libraries() if "w" in (what := rights[start])],
}))
"""

LET_GO_KB = 10_000
"""Least memory released: after imports NumPy, OpenCV and Python have several times that mapped."""


def test_pages_of_libraries_are_let_go_of_and_come_back_as_they_are_needed():
    command = [sys.executable, "-c", WATCHED]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told["left"] < told["before"] - LET_GO_KB
    assert (told["same"], told["writable"]) == (True, [])
