"""A server that bills, and runs with a budget against it under kills, faults and lies: what was billed is known here."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import reset_failed, run_progress
from tests.support.runs import planned
from tests.support.stub_server import answer, completion, serving
from tests.support.waiting import HANG_S

IN_USD, OUT_USD = 100.0, 1000.0  # a million tokens
PRICES = f'["openai:hash-judge"]\ninput = {IN_USD}\noutput = {OUT_USD}\n'
MAX_TOKENS = 512
_GOOD = json.dumps({"reasoning": "Fine.", "category": "Good Match", "flagged_items": []})
# faults that are billed nevertheless, and how the answer looks
_FAULTS: dict[str, Any] = {
    "500": lambda body: answer(500, {"error": {"message": "upstream broke"}}),
    "502": lambda body: answer(502, b"<html>Bad gateway</html>"),
    "cut": lambda body: answer(200, body)[:-20],
    "reset": lambda body: None,
    "hang": lambda body: b"",
    "html": lambda body: answer(200, b"<html>Sign in</html>"),
    "garbage": lambda body: answer(200, {**body, **completion("I liked it.")}),
    "refusal": lambda body: answer(200, {**body, **completion(None, refusal="No.")}),
    "length": lambda body: answer(200, {**body, **completion('{"reasoning": "', finish="length")}),
    "empty": lambda body: answer(200, {**body, "choices": []}),
}


def _costing(dollars: Any) -> Callable[[int, int], Any]:
    return lambda prompt, output: {"prompt_tokens": prompt, "completion_tokens": output, "cost": dollars}


# what a reply says of its usage, of the tokens of the prompt and the answer; None: nothing
_USAGES: dict[str, Callable[[int, int], Any]] = {
    "usage": lambda prompt, output: {"prompt_tokens": prompt, "completion_tokens": output},
    "nothing": lambda prompt, output: None,
    "half": lambda prompt, output: {"prompt_tokens": prompt},
    "zero": lambda prompt, output: {"prompt_tokens": 0, "completion_tokens": 0},
    "few": lambda prompt, output: {"prompt_tokens": 1, "completion_tokens": 1},
    "tenth": lambda prompt, output: {"prompt_tokens": prompt // 10, "completion_tokens": output},
    "minus": lambda prompt, output: {"prompt_tokens": -prompt, "completion_tokens": -output},
    "large": lambda prompt, output: {"prompt_tokens": 2**63, "completion_tokens": 2**63},
    "fractions": lambda prompt, output: {"prompt_tokens": prompt / 3, "completion_tokens": output + 0.5},
    "words": lambda prompt, output: {"prompt_tokens": "many", "completion_tokens": str(output)},
    "list": lambda prompt, output: [{"prompt_tokens": prompt, "completion_tokens": output}],
    "cached": lambda prompt, output: {
        "prompt_tokens": prompt, "completion_tokens": output, "prompt_tokens_details": {"cached_tokens": 10**9},
    },
    "negative": _costing(-1.0),
    "nan": _costing(float("nan")),
    "infinity": _costing(float("inf")),
    "free": _costing(0.0),
    "small": _costing(1e-12),
    "text": _costing("0.0"),
    "beyond": _costing(10**400),
}  # fmt: skip


class Scenario(NamedTuple):
    """`says`: what the replies say of usage and cost. `faults`: kinds of answers, each for an equal share of `faulty`
    requests. `kills` by SIGKILL and `interrupts` (a second Ctrl-C) at random moments, then `resumes` and `retries`."""

    name: str
    says: str = "usage"
    faults: tuple[str, ...] = ()
    faulty: float = 0.5
    concurrency: int = 8
    kills: int = 0
    interrupts: int = 0
    resumes: int = 1
    retries: int = 0
    more: float = 1.0


SCENARIOS = (
    Scenario("true usage"),
    Scenario("true usage, 64 at once", concurrency=64),
    Scenario("a negative cost", "negative"),
    Scenario("a cost of NaN", "nan"),
    Scenario("a cost of Infinity", "infinity"),
    Scenario("a cost of 0", "free"),
    Scenario("a usage of 0 tokens", "zero"),
    Scenario("a negative usage", "minus"),
    Scenario("a usage of 1 token", "few"),
    Scenario("more cached tokens than there are", "cached"),
    Scenario("no usage, four resumes", "nothing", resumes=4),
    Scenario("no usage, kills", "nothing", kills=2),
    Scenario("no output tokens, 64 at once, kills", "half", concurrency=64, kills=2),
    Scenario("true usage, kills", kills=2),
    Scenario("true usage, 64 at once, kills", concurrency=64, kills=3),
    Scenario("interrupted twice, resumed", interrupts=2, concurrency=16),
    Scenario("failures that are billed, retried", faults=("500", "502"), resumes=2),
    Scenario("answers lost on their way", faults=("cut", "reset", "html"), resumes=2),
    Scenario("answers that come too late", faults=("hang",), faulty=0.2),
    Scenario("replies that cannot be read, retried", faults=("garbage",), retries=3),
    Scenario("refusals, retried", faults=("refusal",), faulty=1.0, retries=3),
    Scenario("refusals without usage, retried", "nothing", ("refusal",), 1.0, retries=3),
    Scenario("replies cut at the cap, asked with a larger one", faults=("length", "empty"), retries=2),
    Scenario("a budget that is raised", resumes=2, more=1.5),
    Scenario("everything at once", "half", tuple(set(_FAULTS) - {"hang"}), 0.5, 64, 2, 1, 2, 1),
)

# for the benchmark alone
MORE_SCENARIOS = (
    Scenario("a cost far below the usage", "small"),
    Scenario("a cost that is text", "text"),
    Scenario("a usage of 1 token, kills and resumes", "few", kills=2, resumes=3),
    Scenario("a tenth of the tokens of the prompt, 64 at once", "tenth", concurrency=64),
    Scenario("a cost beyond any number", "beyond", resumes=2),
    Scenario("a usage that is a list", "list", resumes=2),
    Scenario("a usage in text", "words", kills=1),
    Scenario("a usage with fractions", "fractions"),
    Scenario("a usage of 2^63", "large", resumes=2),
    Scenario("no usage, 64 at once, five kills", "nothing", concurrency=64, kills=5),
    Scenario("a negative cost, 64 at once, kills", "negative", concurrency=64, kills=3),
    Scenario("a cost of 0, interrupted four times", "free", concurrency=64, interrupts=4),
    Scenario("cut answers, 64 at once, kills", "usage", ("cut",), 0.8, 64, 3, 0, 3),
    Scenario("resets alone, resumed and retried", faults=("reset",), faulty=1.0, resumes=3, retries=3),
    Scenario("hung calls, killed", faults=("hang",), faulty=0.5, kills=2, resumes=2),
    Scenario("errors that are billed, one at a time", "usage", ("500",), 0.9, 1, resumes=3, retries=2),
    Scenario("empty answers, retried", faults=("empty",), faulty=0.9, retries=4),
    Scenario("no usage, unreadable replies, kills", "nothing", ("garbage", "length"), 0.7, 32, 2, 0, 2, 2),
    Scenario("one call at a time, eight kills", concurrency=1, kills=8),
)


class Biller:
    """Answers a chat request and bills it: a token for three bytes of the prompt, and any part of the cap, by hash."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.scenario, self.seed = scenario, seed
        self.billed, self.requests = 0.0, 0
        self._lock = threading.Lock()

    def respond(self, raw: bytes) -> bytes | None:
        body = json.loads(raw)
        with self._lock:
            self.requests += 1
            draw = Random(sha256(raw + b"%d/%d" % (self.seed, self.requests)).digest())
            prompt = sum(len(message["content"].encode()) for message in body["messages"]) // 3
            output = draw.randint(1, body.get("max_completion_tokens") or body["max_tokens"])
            self.billed += (prompt * IN_USD + output * OUT_USD) / 1e6
        time.sleep(draw.uniform(0, 0.01))
        usage = _USAGES[self.scenario.says](prompt, output)
        reply = completion(_GOOD) | ({} if usage is None else {"usage": usage})
        if self.scenario.faults and draw.random() < self.scenario.faulty:
            response: bytes | None = _FAULTS[draw.choice(self.scenario.faults)](reply)
            return response
        return answer(200, reply)


class Outcome(NamedTuple):
    """Dollars billed, the budget, what the database counts as spent, and the calls that were done."""

    billed: float
    budget: float
    counted: float
    done: int


def play(db: Database, scenario: Scenario, calls: int, seed: int) -> Outcome:
    """A run of the project `films` with a budget for about half of its `calls`. RECJUDGE_CONFIG must hold PRICES."""
    biller, random = Biller(scenario, seed), Random(seed)

    def script(line: str, number: int) -> bytes | None:
        if line.startswith("GET"):
            return answer(200, {"data": [{"id": "hash-judge"}]})
        return biller.respond(stub.bodies[number])

    with serving(script) as stub:
        judge = JudgeSpec(spec="openai:hash-judge", base_urls=(f"{stub.url}/v1",))
        budget = calls * 0.25
        run = planned(
            db, judge, concurrency=scenario.concurrency, budget_usd=budget, max_tokens=MAX_TOKENS, timeout_s=0.5,
            use_cache=False,
        )  # fmt: skip
        for _ in range(scenario.kills):
            _disturbed(db.path, run, random, (signal.SIGKILL,))
        for _ in range(scenario.interrupts):
            _disturbed(db.path, run, random, (signal.SIGINT, signal.SIGINT))
        for again in range(scenario.resumes + scenario.retries):
            if again >= scenario.resumes:
                reset_failed(db, run)
            elif again and scenario.more != 1.0:
                budget *= scenario.more
                db.execute(
                    "UPDATE runs SET settings = json_set(settings, '$.budget_usd', ?) WHERE id = ?",
                    (budget, run),
                )
            _worked(db.path, run)
        progress = run_progress(db, run)
    return Outcome(biller.billed, budget, progress.spent_usd, progress.done)


def _worked(path: Path, run: int) -> None:
    try:
        work(path, run)
    except RecjudgeError as error:
        if "calls in a row failed" not in error.title:
            raise


def _disturbed(path: Path, run: int, random: Random, signals: tuple[signal.Signals, ...]) -> None:
    """Work on the run in a process that gets these signals at a random moment."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.support.billing"])
    process = context.Process(target=_child, args=(path, run, os.environ["RECJUDGE_CONFIG"]))
    process.start()
    assert process.pid is not None
    time.sleep(random.uniform(0.03, 0.4))
    for number in signals:
        if process.is_alive():
            # it may have ended since, and its parent, who is another process, has seen that
            with suppress(ProcessLookupError):
                os.kill(process.pid, number)
            time.sleep(0.02)
    process.join(HANG_S)
    assert not process.is_alive(), "the process does not end"


def _child(path: Path, run: int, config: str) -> None:
    os.environ["RECJUDGE_CONFIG"] = config
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    _worked(path, run)
