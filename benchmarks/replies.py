"""Replies: how long degenerate ones take to read, and mutated ones compared with a second, slower reader.

    python benchmarks/replies.py [COUNT] [SEED] [--quick]

mutates COUNT replies (1,000,000), prints every label in dispute, and then the time of each degenerate shape.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.rows import Row, command_parser
from recjudge_tui.domain.calls import Reply
from recjudge_tui.errors import ReplyFault
from recjudge_tui.protocols.replies import read_fields
from tests.support.cases import shipped
from tests.support.degenerate_replies import SHAPES, degenerate
from tests.support.reply_fuzz import PROMPTS, fuzzed

BOUNDS = {64_000: 0.005, 1_000_000: 0.050}
MUTATED, QUICK_MUTATED = 60_000, 300
QUICK_SHAPES = list(SHAPES)[::16]
QUESTIONS = ("pointwise-shopping", "arena-media", "explanation-media")


def measure(quick: bool = False) -> list[Row]:
    shapes, mutated = (QUICK_SHAPES, QUICK_MUTATED) if quick else (list(SHAPES), MUTATED)
    rows: list[Row] = []
    for size, bound in BOUNDS.items():
        seconds = {shape: max(slowest(name, shape, size) for name in QUESTIONS) for shape in shapes}
        worst = max(seconds, key=lambda shape: seconds[shape])
        rows.append(
            {
                "name": f"a reply of {size:,} characters, worst of {len(shapes)} shapes (ms)",
                "ours": seconds[worst] * 1000,
                "comparison": None,
                "ratio": None,
                "bound": f"<= {bound * 1000:g} ms",
                "holds": seconds[worst] <= bound,
                "note": f"“{worst}”",
            }
        )
    results = [fuzzed(name, mutated // len(PROMPTS), seed=1) for name in PROMPTS]
    disputed = sum(len(result.disputed) for result in results)
    rows.append(
        {
            "name": f"{mutated:,} mutated replies, labels in dispute",
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


def main(words: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__)
    parser.add_argument("count", nargs="?", type=int, default=1_000_000)
    parser.add_argument("seed", nargs="?", type=int, default=7)
    options = parser.parse_args(words)
    count = QUICK_MUTATED if options.quick else options.count
    for name in PROMPTS:
        result = fuzzed(name, count // len(PROMPTS), options.seed)
        print(
            f"{name}: {result.tried:,} replies, {result.read:,} read, {len(result.disputed)} in dispute",
            flush=True,
        )
        for reply, label in result.disputed:
            print(f"  {label!r} from {reply.text!r} ({reply.kind})")
    for size in BOUNDS:
        for shape in QUICK_SHAPES if options.quick else SHAPES:
            slowest_ms = max(slowest(name, shape, size) for name in QUESTIONS) * 1000
            print(f"{size:>9,} {slowest_ms:8.2f} ms  {shape}")


if __name__ == "__main__":
    main()
