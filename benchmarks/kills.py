"""Kills (SIGKILL) at random moments of six kinds of runs and of other commands that write: nothing lost, verdicts equal.

python benchmarks/kills.py [SECONDS] [SEED] goes on for so long and prints a line for each kind.
"""

from __future__ import annotations

import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from recjudge_tui.runs.engine.engine import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.opening import connect
from tests.support.runs import command, intact, load, make_project, planned, ran, server_judge, verdicts
from tests.support.servers.process import start

SECONDS = 60.0
USERS = 30
RUNS: dict[str, dict[str, Any]] = {
    "pointwise": {"protocol": "pointwise"},
    "pairwise": {"protocol": "pairwise"},
    "arena": {"protocol": "arena"},
    "absolute": {"protocol": "absolute"},
    "explanation": {"protocol": "explanation"},
    "repeats": {"protocol": "pointwise", "repeats": 3, "temperature": 1.0},
}
LABELS = "rater,user_id,system,aspect,value\n" + "".join(
    f"anna,u{n:02d},{system},overall,Good Match\n" for n in range(USERS) for system in ("als", "pop")
)
# what is done, and how much must be there afterwards: all of it or nothing
COMMANDS: dict[str, tuple[str, str]] = {
    "import": ("import {labels} -p films --as labels", "SELECT count(*) FROM verdicts WHERE import_id IS NOT NULL"),
    "undo": ("imports undo 3", "SELECT count(*) FROM slates"),
    "delete run": ("runs delete 1 --yes", "SELECT count(*) FROM calls WHERE run_id = 1"),
    "delete project": ("project delete films --yes", "SELECT count(*) FROM items"),
    "consensus": ("rater consensus both -p films --rule strict one two",
                  "SELECT count(*) FROM verdicts v JOIN raters r ON r.id = v.rater_id WHERE r.name = 'both'"),
    "batch export": ("batch export {planned} -o {out}", "SELECT count(*) FROM batch_calls"),
}  # fmt: skip


class Tally(NamedTuple):
    """`kills` of processes that were alive, and what was wrong after them."""

    kills: int
    wrong: tuple[str, ...]


def measure() -> list[dict[str, Any]]:
    return [
        {
            "name": f"kills: {kind}",
            "ours": tally.kills,
            "comparison": None,
            "ratio": None,
            "bound": "all hold",
            "holds": not tally.wrong,
            "note": "; ".join(tally.wrong[:3]) or "nothing lost, verdicts equal",
        }
        for kind, tally in killed(SECONDS, seed=1).items()
    ]


def killed(seconds: float, seed: int, *, show: bool = False) -> dict[str, Tally]:
    """Rounds of every kind until the time is over."""
    rng, end = random.Random(seed), time.monotonic() + seconds
    kills: Counter[str] = Counter()
    wrong: dict[str, list[str]] = {}
    while time.monotonic() < end:
        for kind in (*RUNS, *COMMANDS):
            if time.monotonic() > end:
                break
            with tempfile.TemporaryDirectory(prefix="kills-") as folder:
                path = Path(folder) / "kills.db"
                tally = _run(path, RUNS[kind], rng) if kind in RUNS else _command(path, COMMANDS[kind], rng)
            kills[kind] += tally.kills
            wrong.setdefault(kind, []).extend(tally.wrong)
            if show:
                print(f"{kind}: {tally.kills} kills {'; '.join(tally.wrong)}", flush=True)
    return {kind: Tally(count, tuple(wrong[kind])) for kind, count in kills.items()}


def _run(path: Path, settings: dict[str, Any], rng: random.Random, most: int = 12) -> Tally:
    """A run that is killed and resumed until it is done, beside one that nobody disturbs."""
    kills, wrong = 0, []
    with connect(path) as db:
        make_project(db, users=USERS)
        rows = [(f"u{n:02d}", f"i{n + 4}", "als", f"As you like genre {n % 5}.") for n in range(USERS)]
        load(db, "explanations", [("user_id", "item_id", "system", "text"), *rows])
        with start("openai_api", "--delay-ms", 200) as server:
            judge = server_judge(server.url)
            quiet = planned(db, judge, concurrency=64, use_cache=False, **settings)
            work(path, quiet)
            run = planned(db, judge, concurrency=2, use_cache=False, **settings)
            done = 0
            for _ in range(most):
                kills += _killed_after(("runs", "resume", run, "--db", path), rng.uniform(0.4, 2.5))
                now = _done(db, run)
                if now < done:
                    wrong.append(f"{done - now} stored answers were lost")
                done = now
            work(path, run)
        if verdicts(db, run) != verdicts(db, quiet):
            wrong.append("other verdicts than those of an undisturbed run")
        if not intact(db):
            wrong.append("the file is damaged")
    return Tally(kills, tuple(wrong))


def _command(path: Path, what: tuple[str, str], rng: random.Random, most: int = 8) -> Tally:
    """A command that is killed at moments spread over the time it takes, each time on a copy of the file."""
    words, count = what
    kills, wrong = 0, []
    with connect(path) as db:
        make_project(db, users=USERS)
        for name in ("one", "two"):
            work(path, planned(db, rater=name))
        waiting = planned(db, server_judge("http://127.0.0.1:9"), rater="batch")
        before = db.value(count)
    labels, copy = path.with_name("labels.csv"), path.with_name("copy.db")
    labels.write_text(LABELS, encoding="utf-8")
    outcomes, whole_s = set(), 0.0
    for turn in range(most + 1):
        for old in path.parent.glob("copy.db*"):
            old.unlink()
        shutil.copyfile(path, copy)
        out = path.with_name(f"batch{turn}.jsonl")
        call = (*words.format(labels=labels, planned=waiting, out=out).split(), "--db", copy)
        if turn:
            kills += _killed_after(call, rng.uniform(whole_s * 0.4, whole_s))
        else:
            begun = time.monotonic()
            code, _, err = ran(*call)
            whole_s = time.monotonic() - begun
            if code:
                wrong.append(err)
        with connect(copy) as db:
            outcomes.add(db.value(count))
            if not turn:
                after = db.value(count)
            if not intact(db):
                wrong.append("the file is damaged")
    if outcomes - {before, after}:
        wrong.append(f"half done: {sorted(outcomes)} between {before} and {after}")
    return Tally(kills, tuple(wrong))


def _killed_after(words: tuple[object, ...], seconds: float) -> int:
    """1 if the process was alive when it was killed, else 0."""
    process = command(*words)
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    alive = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return int(alive)


def _done(db: Database, run: int) -> int:
    count: int = db.value("SELECT count(*) FROM calls WHERE run_id = ? AND state = 'done'", (run,))
    return count


def main() -> None:
    seconds, seed = ([float(word) for word in sys.argv[1:]] + [3600.0, 1.0][len(sys.argv) - 1 :])[:2]
    tallies = killed(seconds, int(seed), show=True)
    print(
        f"{sum(tally.kills for tally in tallies.values())} kills, {sum(len(t.wrong) for t in tallies.values())} wrong"
    )
    for kind, tally in tallies.items():
        print(f"  {kind}: {tally.kills}")


if __name__ == "__main__":
    main()
