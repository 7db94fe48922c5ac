"""The page of SAER's two stages: what declared reports say of the judge, with their tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from recjudge_tui.domain.protocols import OVERALL, SAER
from recjudge_tui.domain.roles import REFERENCES, rules_note
from recjudge_tui.domain.text import money, quantity
from recjudge_tui.project import Project
from recjudge_tui.reports import listings
from recjudge_tui.reports.common.rows import titled
from recjudge_tui.reports.common.table import Page, Table
from recjudge_tui.reports.declare import table_of
from recjudge_tui.store.ratings import project_raters
from recjudge_tui.store.runs import case_count, run_row


@dataclass(frozen=True)
class Stages:
    """The runs of the two stages; `second` is None if it was not run, and `why_none` says why. `left_out`: the systems that
    the first stage kept out of the second, with their shares of the lowest label, all above `threshold`.
    `human_price` is what a person is paid for one of these cases."""

    rater: str
    first: int
    second: int | None
    left_out: Mapping[str, float] = field(default_factory=dict)
    threshold: float | None = None
    why_none: str = ""
    human_price: float | None = None

    @property
    def runs(self) -> list[int]:
        return [run for run in (self.first, self.second) if run is not None]


def saer_page(project: Project, stages: Stages) -> Page:
    """Label shares of every list, the leaderboard of pairs, agreement with people if there are any, cost and time; before
    them their answers, that on pairs first."""
    rater, asked = stages.rater, {"rater": stages.rater, "aspect": OVERALL}
    shares = table_of(project, "leaderboard", protocol=SAER[0], method="share", **asked)
    tables = [titled(shares, "Every list alone: shares of labels")]
    if stages.second is not None:
        board = table_of(project, "leaderboard", protocol=SAER[1], method="winrate", **asked)
        tables.append(titled(board, "Lists in pairs: leaderboard"))
    answers = [table.answer for table in reversed(tables)]
    known = project_raters(project.db, project.id)
    raters = (rater, *(name for name, other in known.items() if other.kind in REFERENCES))
    judged = SAER[: len(stages.runs)]
    agreed = [table_of(project, "agreement", protocol=protocol, raters=raters) for protocol in judged]
    agreed = [table for table in agreed if any(row["rater_a"] == rater for row in table.rows)]
    tables += [titled(table, "Agreement with people") for table in agreed]
    cost = titled(listings.runs(project.db, project, stages.runs), "Cost and time")
    tables.append(cost)
    unknown = "No person judged any of these cases: how far this judge can be trusted here is unknown."
    run = run_row(project.db, stages.first)
    lead = [
        f"The second stage was not run: {stages.why_none}." if stages.second is None else "", _left_out(stages, shares),
        *answers, *(table.answer for table in agreed), "" if agreed else unknown, cost.answer,
        _wages(project, stages),
        f"{rules_note(rater)}." if run["rater_kind"] == "rules" else "",
    ]  # fmt: skip
    settings = {
        "rater": rater, "runs": stages.runs, "drop_poor_over": stages.threshold, "left_out": dict(stages.left_out),
    }  # fmt: skip
    shown = tuple(replace(table, answer="") for table in tables)
    return Page(f"SAER: {run['project']}, judged by {rater}", tuple(filter(None, lead)), shown, settings)


def _left_out(stages: Stages, shares: Table) -> str:
    if stages.threshold is None:
        return ""
    worst = shares.rows[-1]["label"] if shares.rows else "the lowest label"
    over = f"more than {stages.threshold * 100:g} % of the lists {worst}"
    names = ", ".join(f"{name} ({share * 100:.1f} %)" for name, share in stages.left_out.items())
    if not names:
        return f"No system had {over}: all were compared in pairs."
    return f"Left out of the pairs, for {over}: {names}. They were not compared, so they might have won or lost there."


def _wages(project: Project, stages: Stages) -> str:
    if stages.human_price is None:
        return ""
    cases = sum(case_count(project.db, run) for run in stages.runs)
    wages = money(cases * stages.human_price)
    return f"At {money(stages.human_price)} a case, people would cost {wages} for the same {quantity(cases, 'case')}."
