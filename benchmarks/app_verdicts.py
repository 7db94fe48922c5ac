"""The app on a generated project of a million verdicts, in a real pseudo-terminal."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.rows import Row, run_command
from benchmarks.terminal import ROOT, Terminal
from benchmarks.verdict_project import generate

VERDICTS, QUICK_VERDICTS = 1_000_000, 5000
WRITES_PER_S = 500


class Size(NamedTuple):
    """How often the app is started, how often keys are pressed, and how long it is left alone."""

    starts: int
    pages: int
    rounds: int
    idle_s: float
    keys: int


FULL, QUICK = Size(7, 40, 9, 10.0, 60), Size(1, 3, 1, 1.0, 8)
_APP = "import sys; from pathlib import Path; from recjudge_tui.tui.app import run_app; run_app(Path(sys.argv[1]), 'big')"
# the first text painted, the first figure of the home, and its last figure
_FIRST = b"recjudge"
_HOME = b"verdicts on"
_WHOLE_HOME = b"separable"
# the first thing painted that comes from a verdict
_CASE = b"Reasoning"
# the least any Textual program takes
_EMPTY = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    def compose(self):
        yield Static("Reasoning")
Empty().run()
"""


def measure(quick: bool = False) -> list[Row]:
    verdicts, size = (QUICK_VERDICTS, QUICK) if quick else (VERDICTS, FULL)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.db"
        generate(path, verdicts)
        return figures(path, verdicts, size)


def figures(path: Path, verdicts: int, size: Size) -> list[Row]:
    """Measure an existing project."""
    _start(["-c", _APP, str(path)], _FIRST, _HOME)  # compiles what was changed
    # in turn, so that other load on the machine affects both
    pairs = [
        (_start(["-c", _EMPTY], _CASE), _start(["-c", _APP, str(path)], _FIRST, _HOME))
        for _ in range(size.starts)
    ]
    empty, empty_cpu = (_middle(start[0][at] for start, _ in pairs) for at in range(2))
    paint, paint_cpu = (_middle(start[0][at] for _, start in pairs) for at in range(2))
    first, first_cpu = (_middle(start[1][at] for _, start in pairs) for at in range(2))
    with Terminal(["-c", _EMPTY]) as terminal:
        terminal.wait_for(_CASE)
        terminal.settle()
        least_mb = terminal.memory_mb()
    with Terminal(["-c", _APP, str(path)]) as terminal:
        terminal.wait_for(_WHOLE_HOME)
        terminal.settle(2.0)
        home_mb = terminal.memory_mb()
        terminal.press(b"q")
        home = terminal.press(b"\r", until=_HOME)
        terminal.press(b"\r", until=_CASE)
        terminal.settle(1.0)
        terminal.press(b"\r")  # this narrow, triage is one pane until the list is unfolded
        for _ in range(2):  # the queue of the newest run: without both filters all verdicts are listed
            terminal.press(b"\x7f")
            terminal.settle(1.0)
        before = terminal.cpu_s()
        pages = sorted(terminal.press(b"\x1b[6~") for _ in range(size.pages))
        page_cpu = (terminal.cpu_s() - before) / size.pages
        ends = sorted(_there_and_back(terminal) for _ in range(size.rounds))
        swap = _median_filter(terminal, b"why:swap")
        label = _median_filter(terminal, b"label:tie")
        words = _median_filter(terminal, b'"genre 77"')
        memory = terminal.memory_mb()
        idle = _idle_percent(terminal, size.idle_s)
        slowest, middle, written = _keys_while_written(terminal, path, size.keys)
    like_ms = _like_scan_ms(path)
    name = f"app, {verdicts:,} verdicts"
    return [
        _row(f"{name}: start to first paint, times an empty program", paint / empty, 1.2,
             f"of processor time {paint_cpu / empty_cpu:.2f}; medians of {size.starts} starts of each in turn"),
        _row(f"{name}: start to first paint, s", paint, 1.2 * empty, f"processor {paint_cpu:.2f} s; beside it the empty"
             f" program, processor {empty_cpu:.2f} s", empty),
        _row(f"{name}: start to first figures of the home, s", first, 1.2 * empty + 0.5,
             f"processor {first_cpu:.2f} s; the bounds of start and home together", empty),
        _row(f"{name}: home, first figures, s", home, 0.5, "from the list of projects, enter to the first counts painted"),
        _row(f"{name}: home, memory with all figures, MB", home_mb, 90, "resident; beside it the empty program", least_mb),
        _row(f"{name}: page-down, p95, ms", 1000 * pages[max(int(0.95 * size.pages) - 1, 0)], 10,
             f"key to last byte painted, {size.pages} pages; median {1000 * pages[size.pages // 2]:.1f}, processor"
             f" {1000 * page_cpu:.1f} ms each"),
        _row(f"{name}: jump to the end, ms", 1000 * ends[size.rounds // 2], 30,
             f"median of {size.rounds}, slowest {1000 * ends[-1]:.1f}"),
        _row(f"{name}: filter why:swap to first page, ms", 1000 * swap, 150, "enter to the last byte painted, median of 5"),
        _row(f"{name}: filter label:tie to first page, ms", 1000 * label, 150, "the same"),
        _row(f"{name}: words in the reasoning to first page, ms", 1000 * words, 200,
             "the same; beside it one LIKE scan of the reasoning in SQLite alone", like_ms),
        _row(f"{name}: memory, MB", memory, 90, "resident, after all of that; beside it the empty program", least_mb),
        _row(f"{name}: processor when idle, %", idle, 0.5, f"over {size.idle_s:g} s"),
        _row(f"{name}: slowest key while a run writes, ms", 1000 * slowest, 50,
             f"{size.keys} keys, {written:.0f} verdicts a second written by another process; median {1000 * middle:.1f}"),
    ]  # fmt: skip


def _start(arguments: list[str], *wanted: bytes) -> list[tuple[float, float]]:
    """The time at which each text was painted: seconds since Python started, and processor time."""
    times = []
    with Terminal(arguments) as terminal:
        for text in wanted:
            times.append((terminal.wait_for(text) - terminal.started, terminal.cpu_s()))
    return times


def _middle(values: Iterable[float]) -> float:
    return statistics.median(values)


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


def _idle_percent(terminal: Terminal, idle_s: float) -> float:
    terminal.settle(4.0)
    before = terminal.cpu_s()
    time.sleep(idle_s)
    return 100 * (terminal.cpu_s() - before) / idle_s


def _keys_while_written(terminal: Terminal, path: Path, keys: int) -> tuple[float, float, float]:
    """(slowest, median) seconds per key, and how many verdicts per second were written meanwhile."""
    seconds = keys * 0.3
    writer = subprocess.Popen(
        [sys.executable, str(ROOT / "benchmarks" / "verdict_project.py"), str(path), str(WRITES_PER_S), str(seconds)],
        stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    time.sleep(2.0)
    times: list[float] = []
    while writer.poll() is None and len(times) < keys:
        times.append(terminal.press(b"\x1b[6~" if len(times) % 4 == 3 else b"j"))
    out, _ = writer.communicate()
    times.sort()
    return times[-1], times[len(times) // 2], int(out) / seconds


def _like_scan_ms(path: Path) -> float:
    from recjudge_tui.store.schema import connect

    with connect(path) as db:
        begun = time.perf_counter()
        db.rows("SELECT id FROM answers WHERE reasoning LIKE '%genre 77%'")
        return 1000 * (time.perf_counter() - begun)


def _row(name: str, ours: float, bound: float, note: str, comparison: float | None = None) -> Row:
    return {
        "name": name,
        "ours": round(ours, 3),
        "comparison": None if comparison is None else round(comparison, 3),
        "ratio": None if comparison is None else round(ours / comparison, 3),
        "bound": bound,
        "holds": ours <= bound,
        "note": note,
    }


def main(words: Sequence[str] | None = None) -> None:
    run_command(__doc__, measure, words)


if __name__ == "__main__":
    main()
