"""Replies: how long the worst ones take to read, and mutated ones against a second, careful reader.

python benchmarks/replies.py [COUNT] [SEED] mutates COUNT replies (1,000,000) and prints every label in dispute.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from recjudge_tui.domain.calls import Reply
from recjudge_tui.errors import ReplyFault
from recjudge_tui.protocols.replies.parsing import read_fields
from tests.support.cases import shipped
from tests.support.degenerate_replies import SHAPES, degenerate
from tests.support.reply_fuzz import PROMPTS, fuzzed

BOUNDS = {64_000: 0.005, 1_000_000: 0.050}
MUTATED = 60_000
QUESTIONS = ("pointwise-shopping", "arena-media", "explanation-media")


def measure() -> list[dict[str, Any]]:
    rows = []
    for size, bound in BOUNDS.items():
        seconds = {shape: max(slowest(name, shape, size) for name in QUESTIONS) for shape in SHAPES}
        worst = max(seconds, key=lambda shape: seconds[shape])
        rows.append(
            {
                "name": f"a reply of {size:,} characters, worst of {len(SHAPES)} shapes (ms)",
                "ours": seconds[worst] * 1000,
                "comparison": None,
                "ratio": None,
                "bound": f"<= {bound * 1000:g} ms",
                "holds": seconds[worst] <= bound,
                "note": f"“{worst}”",
            }
        )
    results = [fuzzed(name, MUTATED // len(PROMPTS), seed=1) for name in PROMPTS]
    disputed = sum(len(result.disputed) for result in results)
    rows.append(
        {
            "name": f"{MUTATED:,} mutated replies, labels in dispute",
            "ours": disputed,
            "comparison": None,
            "ratio": None,
            "bound": "none",
            "holds": not disputed,
            "note": f"{sum(result.read for result in results):,} read, the others refused with the fault named",
        }
    )
    return rows


def slowest(prompt_name: str, shape: str, size: int, times: int = 3) -> float:
    """Processor seconds to read a degenerate reply, the best of several times."""
    prompt = shipped(prompt_name)
    reply = Reply(text=degenerate(shape, size))
    return min(_seconds(prompt, reply) for _ in range(times))


def _seconds(prompt: Any, reply: Reply) -> float:
    started = time.process_time()
    with suppress(ReplyFault):
        read_fields(prompt, reply, prompt.aspects)
    return time.process_time() - started


def main() -> None:
    count, seed = (
        (int(word) for word in (*sys.argv[1:], "1000000", "7")[:2])
        if len(sys.argv) != 2
        else (int(sys.argv[1]), 7)
    )
    for name in PROMPTS:
        result = fuzzed(name, count // len(PROMPTS), seed)
        print(f"{name}: {result.tried:,} replies, {result.read:,} read, {len(result.disputed)} in dispute")
        for mutated, label in result.disputed:
            print(f"  {label!r} from {mutated.text!r} ({mutated.kind})")
    for size in BOUNDS:
        for shape in SHAPES:
            print(
                f"{size:>9,} {max(slowest(name, shape, size) for name in QUESTIONS) * 1000:8.2f} ms  {shape}"
            )


if __name__ == "__main__":
    main()
