"""The app on a generated project of a million verdicts, in a real pseudo-terminal."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.terminal import ROOT, Terminal
from benchmarks.verdict_project import generate

VERDICTS = 1_000_000
PAGES = 40
STARTS = 7
KEYS = 60
IDLE_S = 10.0
WRITES_PER_S = 500
_APP = "import sys; from pathlib import Path; from recjudge_tui.tui.app import run_app; run_app(Path(sys.argv[1]), 'big')"
# a figure of the home: what a project opens on
_HOME = b"verdicts on"
# the first thing painted that comes from a verdict: the title of its panel
_CASE = b"case 0000"
# the least any Textual program takes
_EMPTY = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    def compose(self):
        yield Static("case 0000001")
Empty().run()
"""


def measure(verdicts: int = VERDICTS) -> list[dict[str, Any]]:
    """One row per figure: name, ours, comparison, ratio, bound, holds, note."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.db"
        generate(path, verdicts)
        return figures(path, verdicts)


def figures(path: Path, verdicts: int) -> list[dict[str, Any]]:
    """Measure an existing project."""
    starts = sorted(_start(["-c", _APP, str(path)], _HOME) for _ in range(STARTS))
    empties = sorted(_start(["-c", _EMPTY], _CASE) for _ in range(STARTS))
    with Terminal(["-c", _EMPTY]) as terminal:
        terminal.wait_for(_CASE)
        terminal.settle()
        least_mb = terminal.memory_mb()
    with Terminal(["-c", _APP, str(path)]) as terminal:
        terminal.wait_for(_HOME)
        terminal.press(b"q")
        home = terminal.press(b"\r", until=_HOME)
        terminal.press(b"\r", until=_CASE)
        terminal.settle(1.0)
        for _ in range(2):  # the queue of the newest run: without both filters all verdicts are listed
            terminal.press(b"\x7f")
            terminal.settle(1.0)
        pages = sorted(terminal.press(b"\x1b[6~") for _ in range(PAGES))
        ends = sorted(_there_and_back(terminal) for _ in range(9))
        swap = _median_filter(terminal, b"why:swap")
        label = _median_filter(terminal, b"label:tie")
        words = _median_filter(terminal, b'"genre 77"')
        memory = terminal.memory_mb()
        idle = _idle_percent(terminal)
        slowest, middle, written = _keys_while_written(terminal, path)
    like_ms = _like_scan_ms(path)
    name = f"app, {verdicts:,} verdicts"
    middle_start, middle_empty = starts[STARTS // 2], empties[STARTS // 2]
    return [
        _row(f"{name}: start to first figures of the home, s", middle_start, 1.0,
             f"from starting Python to the first figures painted, median of {STARTS}; beside it an empty Textual program",
             middle_empty),
        _row(f"{name}: home, first figures, s", home, 0.5, "from the list of projects, enter to the first counts painted"),
        _row(f"{name}: page-down, p95, ms", 1000 * pages[int(0.95 * PAGES) - 1], 20,
             f"key to last byte painted, {PAGES} pages; median {1000 * pages[PAGES // 2]:.1f}"),
        _row(f"{name}: jump to the end, ms", 1000 * ends[4], 30, f"median of 9, slowest {1000 * ends[-1]:.1f}"),
        _row(f"{name}: filter why:swap to first page, ms", 1000 * swap, 150, "enter to the last byte painted, median of 5"),
        _row(f"{name}: filter label:tie to first page, ms", 1000 * label, 150, "the same"),
        _row(f"{name}: words in the reasoning to first page, ms", 1000 * words, 200,
             "the same; beside it one LIKE scan of the reasoning in SQLite alone", like_ms),
        _row(f"{name}: memory, MB", memory, 150, "resident, after all of that; beside it the empty program", least_mb),
        _row(f"{name}: processor when idle, %", idle, 0.5, f"over {IDLE_S:g} s"),
        _row(f"{name}: slowest key while a run writes, ms", 1000 * slowest, 50,
             f"{KEYS} keys, {written:.0f} verdicts a second written by another process; median {1000 * middle:.1f}"),
    ]  # fmt: skip


def _start(arguments: list[str], wanted: bytes) -> float:
    with Terminal(arguments) as terminal:
        took = terminal.wait_for(wanted) - terminal.started
        terminal.settle()
    return took


def _there_and_back(terminal: Terminal) -> float:
    took = terminal.press(b"G")
    terminal.press(b"g")
    return took


def _median_filter(terminal: Terminal, text: bytes) -> float:
    """Seconds from enter until the last byte is painted."""
    times: list[float] = []
    for _ in range(5):
        terminal.press(b"/")
        terminal.press(text)
        times.append(terminal.press(b"\r"))
        terminal.settle(1.5)
        terminal.press(b"\x7f")
        terminal.settle(1.5)
        terminal.press(b"g")
    return sorted(times)[2]


def _idle_percent(terminal: Terminal) -> float:
    terminal.settle(4.0)
    before = terminal.cpu_s()
    time.sleep(IDLE_S)
    return 100 * (terminal.cpu_s() - before) / IDLE_S


def _keys_while_written(terminal: Terminal, path: Path) -> tuple[float, float, float]:
    """(slowest, median) seconds per key, and how many verdicts per second were written meanwhile."""
    seconds = KEYS * 0.3
    writer = subprocess.Popen(
        [sys.executable, str(ROOT / "benchmarks" / "verdict_project.py"), str(path), str(WRITES_PER_S), str(seconds)],
        stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    time.sleep(2.0)
    times: list[float] = []
    while writer.poll() is None and len(times) < KEYS:
        times.append(terminal.press(b"\x1b[6~" if len(times) % 4 == 3 else b"j"))
    out, _ = writer.communicate()
    times.sort()
    return times[-1], times[len(times) // 2], int(out) / seconds


def _like_scan_ms(path: Path) -> float:
    from recjudge_tui.store.opening import connect

    with connect(path) as db:
        begun = time.perf_counter()
        db.rows("SELECT id FROM answers WHERE reasoning LIKE '%genre 77%'")
        return 1000 * (time.perf_counter() - begun)


def _row(name: str, ours: float, bound: float, note: str, comparison: float | None = None) -> dict[str, Any]:
    return {
        "name": name,
        "ours": round(ours, 3),
        "comparison": None if comparison is None else round(comparison, 3),
        "ratio": None if comparison is None else round(ours / comparison, 3),
        "bound": bound,
        "holds": ours <= bound,
        "note": note,
    }


if __name__ == "__main__":
    for figure in measure(int(sys.argv[1]) if len(sys.argv) > 1 else VERDICTS):
        print(
            f"{figure['name']:62} {figure['ours']:10} of {figure['bound']:6} {figure['holds']}  {figure['note']}"
        )
