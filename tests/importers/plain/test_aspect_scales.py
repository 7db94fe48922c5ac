"""A scale for each aspect, and categories without an order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recjudge_tui.domain.scales import Scale, scale_of_text
from recjudge_tui.errors import InputError
from recjudge_tui.store.database import Database
from recjudge_tui.store.imports import undo_import
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.ratings import stored_scales
from tests.support.importing import Load, rows_of
from tests.support.verdicts import Project, agreement, table

SCALES = """
[labels]
rater = "who"
user_id = "u"
item_id = "i"
system = "s"

[labels.aspects]
accuracy = "accuracy"
useful = "useful"
safe = "safe"
tone = "tone"

[labels.scale]
accuracy = [1, 5]
useful = [0, 10]
safe = ["no", "yes"]
tone = { categories = ["warm", "cold", "odd"] }
"""
RNG = np.random.default_rng(7)
TONES = ("warm", "cold", "odd")
ANN = [(a, u, s, t) for a, u, s, t in zip(*(RNG.integers(0, k, 12) for k in (5, 8, 2, 3)), strict=True)]
BEN = [
    (a, u, s, t) if n % 3 else (4 - a, 7 - u, 1 - s, (t + 1) % 3) for n, (a, u, s, t) in enumerate(ANN)
]  # fmt: skip


def _rows() -> str:
    lines = ["who,u,i,s,accuracy,useful,safe,tone"]
    for who, given in (("ann", ANN), ("ben", BEN)):
        for n, (a, u, s, t) in enumerate(given):
            system = "x" if n % 2 else "y"
            lines.append(f"{who},u{n},i,{system},{a + 1},{u + 1},{('no', 'Yes')[s]},{TONES[t]}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def mapping(tmp_path: Path) -> Path:
    path = tmp_path / "scales.toml"
    path.write_text(SCALES)
    return path


@pytest.fixture
def project(load: Load, db: Database, mapping: Path) -> int:
    load("labels", _rows(), mapping=mapping)
    return project_id(db, "p")


def test_scales_are_stored_and_reported(load: Load, db: Database, mapping: Path) -> None:
    summary = load("labels", _rows(), mapping=mapping)
    assert summary.stored == 96
    assert stored_scales(db, project_id(db, "p")) == {
        ("explanation", "accuracy"): Scale(1, 5),
        ("explanation", "useful"): Scale(0, 10),
        ("explanation", "safe"): Scale(0, 1, ("no", "yes")),
        ("explanation", "tone"): Scale(0, 2, TONES, ordered=False),
    }
    assert "scale of useful (explanation): 0 to 10" in summary.files[0].remarks
    assert rows_of(db, "SELECT DISTINCT value, label FROM v_verdicts WHERE aspect = 'safe' ORDER BY 1") == [
        (0.0, "no"),
        (1.0, "yes"),
    ]
    import_id = summary.files[0].import_id
    assert import_id is not None
    undo_import(db, import_id)
    assert stored_scales(db, project_id(db, "p")) == {}


def test_ordinal_figures_of_categories_say_why_they_are_missing(db: Database, project: int) -> None:
    options = {"aspect": "tone", "stat": ("qwk", "pearson", "bias", "alpha_nominal")}
    by_stat = {row["stat"]: row for row in agreement(Project(db, project), **options).rows}
    for stat in ("qwk", "pearson", "bias"):
        assert by_stat[stat]["value"] is None
        assert "categories without an order" in str(by_stat[stat]["note"])
    assert by_stat["alpha_nominal"]["value"] is not None
    every = agreement(Project(db, project), aspect="tone", stat=("all",))
    assert {row["stat"] for row in every.rows} == {"percent", "kappa", "ac1", "alpha_nominal"}
    together = agreement(Project(db, project), together=True, aspect="tone")
    assert {row["stat"] for row in together.rows} == {"alpha_nominal", "fleiss", "ac1"}
    asked = agreement(Project(db, project), together=True, aspect="tone", stat=("ac2", "fleiss"))
    assert [row["stat"] for row in asked.rows] == ["fleiss"]
    assert any("no ac2: the answers are categories" in note for note in asked.notes)
    by_label = agreement(Project(db, project), by_label=True, aspect="tone")
    assert {row["label"] for row in by_label.rows if row["label"]} == set(TONES)


def test_boards_use_each_scale(db: Database, project: int) -> None:
    means = table(Project(db, project), "leaderboard", protocol="explanation", raters=("ann",))
    useful = next(row for row in means.rows if (row["aspect"], row["system"]) == ("useful", "x"))
    assert useful["score"] == pytest.approx(np.mean([given[1] + 1 for given in ANN[1::2]]))
    assert 0 <= float(str(useful["ci_low"])) <= float(str(useful["ci_high"])) <= 10
    assert "tone" not in {row["aspect"] for row in means.rows}
    assert any("tone: categories without an order have no mean" in note for note in means.notes)
    shares = table(
        Project(db, project),
        "leaderboard",
        protocol="explanation",
        raters=("ann",),
        aspect="tone",
        method="share",
    )
    counts = {(row["system"], row["label"]): row["count"] for row in shares.rows}
    assert counts["x", "cold"] == sum(given[3] == 1 for given in ANN[1::2])


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ("6,1,no,warm", "accuracy"), ("1,11,no,warm", "useful"), ("1,1,maybe,warm", "safe"), ("1,1,no,grim", "tone"),
    ],
)  # fmt: skip
def test_each_aspect_is_checked_on_its_own(load: Load, mapping: Path, cells: str, says: str) -> None:
    content = f"who,u,i,s,accuracy,useful,safe,tone\nann,u,i,x,{cells}\n"
    with pytest.raises(InputError, match=f"no answer of {says} "):
        load("labels", content, mapping=mapping)
    more = content + "ben,u,i,x,1,1,no,warm\n"
    assert load("labels", more, mapping=mapping, keep_fitting=True).stored == 7


def test_later_files_are_held_to_the_scale(load: Load, project: int) -> None:
    header = "rater,user_id,item_id,system,aspect,value"
    summary = load(
        "labels", f"{header}\ncid,u1,i,x,useful,9\ncid,u2,i,x,useful,10\ncid,u1,i,x,tone,odd\n", "b.csv"
    )
    assert (summary.stored, summary.skipped) == (3, 0)
    with pytest.raises(InputError) as caught:
        load("labels", f"{header},scale\ndot,u1,i,x,useful,3,1-5\n", "c.csv")
    assert "c.csv:2: useful (explanation) cannot have the scale 1 to 5" in caught.value.title
    assert "since import 1" in caught.value.cause


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("ann,u,a,b,A,1-5", "pairwise has its own answers (A, Tie, B), so overall cannot have the scale 1 to 5"),
        ("ann,u,a,b,A,five", "“five” is not a scale such as 1-5, no < yes, or red | green"),
        ("ann,u,a,b,A,5-1", "the lowest value must be below the highest"),
        ("ann,u,a,b,A,x|x", "needs at least two different words"),
    ],
)  # fmt: skip
def test_scales_that_do_not_fit(load: Load, row: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        load("labels", f"rater,user_id,system_a,system_b,value,scale\n{row}\n")
    assert f"in.csv:2: {says}" in caught.value.cause


def test_unknown_words_ask_for_the_scale(load: Load) -> None:
    with pytest.raises(InputError) as caught:
        load("labels", "rater,user_id,item_id,system,aspect,value\nann,u,i,s,kind,offensive\n")
    assert "the words from the lowest to the highest" in str(caught.value.next_step)


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        ("1-5", Scale(1, 5)), ("-3 to 3", Scale(-3, 3)), ("0..1", Scale(0, 1)),
        ("no < yes", Scale(0, 1, ("no", "yes"))), ("a|b|c", Scale(0, 2, ("a", "b", "c"), ordered=False)),
    ],
)  # fmt: skip
def test_scales_in_a_cell(text: str, scale: Scale) -> None:
    assert scale_of_text(text) == scale


def test_a_scale_that_is_turned_round_and_answers_about_no_system_are_pointed_out(
    load: Load, db: Database
) -> None:
    content = "rater,user_id,item_id,system,aspect,value\na,u,i,s,nan,1\na,v,i,nan,None,7\n"
    [file] = load("labels", content, scale=(7.0, 1.0)).files
    assert ("1 is stored as 7" in file.remarks[0], "about no system" in file.remarks[1]) == (True, True)
    assert rows_of(db, "SELECT aspect, value FROM verdicts ORDER BY id") == [
        ("overall", 7.0), ("overall", 1.0),
    ]  # fmt: skip
    again = "rater,user_id,item_id,system,value,scale\nb,u,i,s,1,\nb,v,i,s,1,1-7\n"
    assert "1 is stored as 7" in str(load("labels", again).files[0].remarks)
    assert db.column("SELECT value FROM v_verdicts WHERE rater = 'b' ORDER BY user_id") == [7.0, 1.0]


def test_an_aspect_outside_its_scale_is_left_out_alone_and_its_advice_is_its_own(
    load: Load, db: Database
) -> None:
    rows = "".join(f"a,u{n},i,s,accuracy,{n + 1}\na,u{n},i,s,safe,0\n" for n in range(5))
    content = "rater,user_id,item_id,system,aspect,value\n" + rows
    with pytest.raises(InputError) as asked:
        load("labels", content)
    assert 'scale = { "safe" = [0, 1] }' in asked.value.next_step
    assert "--keep-fitting" in asked.value.next_step
    kept = load("labels", content, keep_fitting=True)
    assert (kept.stored, kept.skipped) == (5, 5)
    assert set(db.column("SELECT aspect FROM verdicts")) == {"accuracy"}
    assert "5 of 5 answers of safe (explanation) left out" in str(kept.files[0].remarks)
