"""How often each system's lists got the lowest label in SAER's first stage, and which systems the second leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recjudge_tui.runs.saer.request import SECOND, SaerRequest
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import prompt_by_id
from recjudge_tui.store.runs import label_counts, run_row, run_systems


class PoorShare(NamedTuple):
    """How many of a system's judged lists got the lowest label; `share` is None if none was judged."""

    system: str
    poor: int
    n: int

    @property
    def share(self) -> float | None:
        return self.poor / self.n if self.n else None


class Exclusion(NamedTuple):
    """The systems left out of the second stage with their shares of the lowest label, and those kept, by name.

    `why_none` is the reason why there can be no second stage, or empty.
    """

    left_out: dict[str, float]
    kept: tuple[str, ...]
    why_none: str


def poor_shares(db: Database, run_id: int) -> list[PoorShare]:
    """How often each system of the first stage got the lowest label of the prompt's scale, by system."""
    prompt = prompt_by_id(db, run_row(db, run_id)["prompt_id"])
    aspect = prompt.aspects[0].name
    lowest = min(label.value for label in prompt.labels_of(aspect))
    counts = label_counts(db, run_id, aspect)
    return [
        PoorShare(
            system,
            sum(n for name, value, n in counts if name == system and value == lowest),
            sum(n for name, _, n in counts if name == system),
        )
        for system in run_systems(db, run_id)
    ]


def dropped_systems(shares: Sequence[PoorShare], over: float | None) -> tuple[str, ...]:
    """Those whose share is known and larger than `over`; none where `over` is None."""
    if over is None:
        return ()
    return tuple(s.system for s in shares if s.share is not None and s.share > over)


def exclusion(db: Database, request: SaerRequest, first_run: int) -> Exclusion:
    """The systems left out of the second stage, by the verdicts that the first has now."""
    shares = poor_shares(db, first_run)
    dropped = dropped_systems(shares, request.drop_poor_over)
    left_out = {s.system: s.share for s in shares if s.system in dropped and s.share is not None}
    kept = tuple(s.system for s in shares if s.system not in dropped)
    baseline, why = request.settings[SECOND].baseline, ""
    if len(kept) < 2:
        why = f"fewer than two systems are left ({', '.join(kept) or 'none'})"
    elif baseline in dropped:
        why = f"the baseline {baseline} was left out"
    return Exclusion(left_out, kept, why)


def systems_of_pairs(db: Database, request: SaerRequest, first_run: int) -> tuple[str, ...]:
    """The systems as the settings of the second stage name them: those asked for where none is left out."""
    out = exclusion(db, request, first_run)
    return out.kept if out.left_out else request.settings[SECOND].systems
