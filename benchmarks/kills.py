"""Kills (SIGKILL) at random moments of six kinds of runs and of other commands that write: nothing is lost and
verdicts are equal.

    python benchmarks/kills.py [SECONDS] [SEED] [--quick]

kills for SECONDS (an hour), at least once of each kind, and prints a line for each kind.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.rows import Row, command_parser
from recjudge_tui.runs.batch import export_calls
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.schema import connect
from tests.support.runs import command, intact, load, make_project, planned, ran, server_judge, verdicts
from tests.support.servers.process import start

USERS = 30


class Size(NamedTuple):
    """`seconds` of kills; the maximum number of kills of one run, and of one command."""

    seconds: float
    a_run: int
    a_command: int


SHORT, QUICK, LONG = Size(60.0, 12, 8), Size(0.0, 1, 1), Size(3600.0, 12, 8)
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
# the command, and how many rows must exist afterwards: all of them or none
COMMANDS: dict[str, tuple[str, str]] = {
    "import": ("import {labels} -p films --as labels", "SELECT count(*) FROM verdicts WHERE import_id IS NOT NULL"),
    "undo": ("imports undo 3", "SELECT count(*) FROM slates"),
    "delete run": ("runs delete 1 --yes", "SELECT count(*) FROM calls WHERE run_id = 1"),
    "delete project": ("project delete films --yes", "SELECT count(*) FROM items"),
    "consensus": ("rater combine both -p films --rule strict one two",
                  "SELECT count(*) FROM verdicts v JOIN raters r ON r.id = v.rater_id WHERE r.name = 'both'"),
    "batch export": ("batch export {planned} -o {out}", "SELECT count(*) FROM batch_calls"),
    "batch import": ("batch import {batched} {results}", "SELECT count(*) FROM calls WHERE run_id = 4 AND state = 'done'"),
    "rater delete": ("rater delete -p films one --yes", "SELECT count(*) FROM verdicts"),
    "metric": ("rater metric -p films ndcg", "SELECT count(*) FROM verdicts"),
    "plan": ("annotate plan -p films --protocol pairwise --annotators ana,ben", "SELECT count(*) FROM annotation_tasks"),
}  # fmt: skip
_ANSWER = '{"reasoning": "It fits.", "flagged_items": [], "category": "Good Match"}'


class Tally(NamedTuple):
    """`kills` of processes that were alive, and what was wrong after them."""

    kills: int
    wrong: tuple[str, ...]


def measure(quick: bool = False) -> list[Row]:
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
        for kind, tally in killed(QUICK if quick else SHORT, seed=1).items()
    ]


def killed(size: Size, seed: int, *, show: bool = False) -> dict[str, Tally]:
    """Rounds of every kind until the time is over, at least one round."""
    rng, end = random.Random(seed), time.monotonic() + size.seconds
    kills: Counter[str] = Counter()
    wrong: dict[str, list[str]] = {}
    kinds = (*RUNS, *COMMANDS)
    while len(wrong) < len(kinds) or time.monotonic() < end:
        for kind in kinds:
            if kind in wrong and time.monotonic() > end:
                break
            with tempfile.TemporaryDirectory(prefix="kills-") as folder:
                path = Path(folder) / "kills.db"
                if kind in RUNS:
                    tally = _run(path, RUNS[kind], rng, size.a_run)
                else:
                    tally = _command(path, COMMANDS[kind], rng, size.a_command)
            kills[kind] += tally.kills
            wrong.setdefault(kind, []).extend(tally.wrong)
            if show:
                print(f"{kind}: {tally.kills} kills {'; '.join(tally.wrong)}", flush=True)
    return {kind: Tally(count, tuple(wrong[kind])) for kind, count in kills.items()}


def _run(path: Path, settings: dict[str, Any], rng: random.Random, most: int) -> Tally:
    """A run that is killed and resumed until it is done, compared with an undisturbed run."""
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


def _command(path: Path, what: tuple[str, str], rng: random.Random, most: int) -> Tally:
    """A command that is killed at moments spread over the time it takes, each time on a copy of the file."""
    words, count = what
    kills, wrong = 0, []
    with connect(path) as db:
        make_project(db, users=USERS)
        for name in ("one", "two"):
            work(path, planned(db, rater=name))
        waiting = planned(db, server_judge("http://127.0.0.1:9"), rater="batch")
        batched = planned(db, server_judge("http://127.0.0.1:9"), rater="another batch", use_cache=False)
        results = _results(db, batched)
        before = db.value(count)
    labels, copy = path.with_name("labels.csv"), path.with_name("copy.db")
    labels.write_text(LABELS, encoding="utf-8")
    outcomes, whole_s = set(), 0.0
    for turn in range(most + 1):
        for old in path.parent.glob("copy.db*"):
            old.unlink()
        shutil.copyfile(path, copy)
        out = path.with_name(f"batch{turn}.jsonl")
        names = {"labels": labels, "planned": waiting, "out": out, "batched": batched, "results": results}
        call = (*words.format(**names).split(), "--db", copy)
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


def _results(db: Database, run: int) -> Path:
    """A file of answers to all calls of a run, as the provider of a batch writes it."""
    calls, results = db.path.with_name("calls.jsonl"), db.path.with_name("results.jsonl")
    export_calls(db, run, calls)
    message = {"role": "assistant", "content": _ANSWER}
    body = {"model": "m", "choices": [{"message": message, "finish_reason": "stop"}]}
    response = {"status_code": 200, "request_id": "r", "body": body}
    results.write_text("".join(
        json.dumps({"custom_id": json.loads(line)["custom_id"], "response": response, "error": None}) + "\n"
        for line in calls.read_text(encoding="utf-8").splitlines()
    ), encoding="utf-8")  # fmt: skip
    return results


def _count(connection: sqlite3.Connection, table: str) -> int:
    count: int = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    return count


def _killed_after(words: tuple[object, ...], seconds: float, begun: Callable[[], bool] = lambda: True) -> int:
    """Kill the process this many seconds after its start; 1 if it was alive when it was killed, else 0."""
    process = command(*words)
    while process.poll() is None and not begun():
        time.sleep(0.002)
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


def main(words: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__)
    parser.add_argument("seconds", nargs="?", type=float, default=LONG.seconds)
    parser.add_argument("seed", nargs="?", type=int, default=1)
    options = parser.parse_args(words)
    size = QUICK if options.quick else LONG._replace(seconds=options.seconds)
    tallies = killed(size, options.seed, show=True)
    print(
        f"{sum(tally.kills for tally in tallies.values())} kills, {sum(len(t.wrong) for t in tallies.values())} wrong"
    )
    for kind, tally in tallies.items():
        print(f"  {kind}: {tally.kills}")


if __name__ == "__main__":
    main()
