"""Runs a function in a separate Python process, and measures the memory of this process."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# the result is the last line: the function itself may print
_CODE = """
import json, sys
from importlib import import_module
module, function, arguments = sys.argv[1:]
result = getattr(import_module(module), function)(*json.loads(arguments))
print("\\n" + json.dumps(result, default=lambda value: value.item()))
"""


def in_a_process(module: str, function: str, *arguments: object) -> Any:
    """The result of `benchmarks.MODULE.FUNCTION(*arguments)`; arguments and result are passed as JSON.

    Raises CalledProcessError if the function fails; its traceback is on stderr.
    """
    words = [sys.executable, "-c", _CODE, f"benchmarks.{module}", function, json.dumps(arguments)]
    ran = subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(ran.stdout.splitlines()[-1])


def measured(action: Callable[[], object]) -> dict[str, float]:
    """Seconds of the action, and processor time and peak memory of this process."""
    started = time.perf_counter()
    action()
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "processor": time.process_time(), "peak_mb": peak_mb()}


def peak_mb() -> float:
    """Peak resident memory of this process; getrusage would include the process that started it."""
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))
