"""Common functions of benchmarks: settings, printing figures, measuring, checking solutions."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from robot.settings import load_profile
from solver.errors import CubistError, ExitCode

ROOT = Path(__file__).parents[2]
T = TypeVar("T")


def emit(
    bench: str, value: float, unit: str, n: int = 1, detail: dict[str, Any] | None = None
) -> None:
    line = {"bench": bench, "value": value, "unit": unit, "n": n, "detail": detail or {}}
    print(json.dumps(line), flush=True)


def mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def chosen(name: str, default: object, read: Callable[[str], T]) -> T:
    """Return the value of ``CUBIST_NAME`` in the environment, or the default.

    Ends the program with a sentence if ``read`` rejects the value.
    """
    text = os.environ.get(f"CUBIST_{name}") or str(default)
    try:
        return read(text)
    except CubistError as error:
        reason = str(error)
    except ValueError:
        reason = f"{text!r} is not a value such as {str(default)!r}"
    print(f"CUBIST_{name}: {reason}", file=sys.stderr)
    raise SystemExit(ExitCode.USAGE)


def whole(text: str, least: int = 1) -> int:
    """Return a whole number, or raise ValueError."""
    if int(text) < least:
        raise ValueError(text)
    return int(text)


def seconds(text: str) -> float:
    """Return a time, or raise ValueError."""
    if not 0 < float(text) < float("inf"):
        raise ValueError(text)
    return float(text)


def robot(text: str) -> str:
    """Return the name of a profile, or raise an error."""
    return text if load_profile(text) else ""


def whole_robot(text: str) -> str:
    """Return the name of a profile with a camera, or raise an error."""
    if not load_profile(text).cameras:
        raise ValueError(text)
    return text


def several(read: Callable[[str], T]) -> Callable[[str], list[T]]:
    """Return a function that reads values with spaces or commas between them."""
    return lambda text: [read(word) for word in text.replace(",", " ").split()]


def timed(work: Callable[..., T], *arguments: Any, **named: Any) -> tuple[T, float]:
    """Return the result of a call and its processor seconds."""
    before = time.process_time()
    result = work(*arguments, **named)
    return result, time.process_time() - before


def children_cpu_s() -> float:
    """Return the processor seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def used_cpu_s(pid: int) -> float:
    """Return the CPU time of a process so far, including ended threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run_python(code: str, *arguments: str, **environment: str) -> str:
    """Return the output of a program in a separate process."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.check_output(command, text=True, cwd=ROOT, env=os.environ | environment)


def most_resident_mib(code: str, *arguments: str) -> float:
    """Return the peak resident MiB of a process that runs a program.

    getrusage would include the memory of the process from which it was forked.
    """
    tell = "; print(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0])"
    return int(run_python(code + tell, *arguments)) / 1024


def replayed(cube: Any, solution: Any) -> Any:
    """Return the solution of a cube. Raise ValueError if it does not solve the cube."""
    if not cube.apply(" ".join(solution.moves)).is_solved:
        raise ValueError(f"{' '.join(solution.moves)} does not solve {cube}")
    return solution
