"""The tables of the Agreement screen: people with a few labels stay out until asked for, and a note names them."""

from __future__ import annotations

from pathlib import Path

from recjudge_tui.reports.topics import Topic
from recjudge_tui.tui.agreement import Agreement, AgreementChoice, load_agreement
from tests.support.verdicts import give, new_project, pair_case


def raters(agreement: Agreement) -> tuple[set[object], set[object]]:
    """Those of the matrix, and those of the ranking."""
    assert agreement.pairs is not None
    assert agreement.board is not None
    pairs = {row[side] for row in agreement.pairs.rows for side in ("rater_a", "rater_b")}
    return pairs, {row["rater"] for row in agreement.board.rows}


def test_a_person_with_one_label_is_left_out_of_both_tables_unless_requested(project_db: Path) -> None:
    project = new_project(project_db)
    pairs = {pair_case(project, f"u{at}"): float(at % 2) for at in range(10)}
    for rater in ("ana", "ben"):
        give(project, rater, pairs, protocol_name="pairwise")
    give(project, "cem", dict(list(pairs.items())[:1]), protocol_name="pairwise")
    topic = Topic("pairwise", "overall")
    usual = load_agreement(project.db, project.id, AgreementChoice(topic))
    assert "cem" not in set.union(*raters(usual))
    assert usual.board is not None
    assert "without cem: fewer than 10 labels" in usual.board.notes
    asked = load_agreement(project.db, project.id, AgreementChoice(topic, readers=True))
    assert all("cem" in shown for shown in raters(asked))
    assert asked.board is not None
    assert not any(note.startswith("without") for note in asked.board.notes)
