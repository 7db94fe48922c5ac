from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import recjudge_tui
from recjudge_tui.domain.protocols import (
    OVERALL,
    PROTOCOLS,
    SAER,
    compares_lists,
    decidable,
    offered,
    question_of,
    same_question,
    with_unit,
)
from recjudge_tui.domain.roles import (
    BUILT_IN,
    COMBINED,
    FIRST_HAND,
    MACHINES,
    PEOPLE,
    PERSONS,
    RATER_KINDS,
    REFERENCES,
    REVIEWED,
    RUN_RATERS,
    WITHOUT_OPINION,
)
from recjudge_tui.protocols.registry import MODULES
from recjudge_tui.settings import data_dir

PACKAGE = Path(recjudge_tui.__file__).parent
# what names a protocol: its facts and functions, the demo's own data, one paper's report, a word of Label Studio's
NAMING = (
    "domain/protocols.py", "domain/adversarial.py", "domain/planted.py", "protocols/", "cli/operate/demo.py",
    "cli/results/reproduce.py",
    "reports/papers/arena", "reports/leaderboard/side_by_side.py", "importers/labelling/label_studio.py",
)  # fmt: skip


def test_every_protocol_has_facts_and_functions() -> None:
    assert list(PROTOCOLS) == list(MODULES)
    assert all(name == facts.name for name, facts in PROTOCOLS.items())


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_facts_fit_together(name: str) -> None:
    facts = PROTOCOLS[name]
    assert facts.low < facts.high
    assert 0 < facts.disagreement <= facts.high - facts.low
    assert list(facts.labels) == sorted(facts.labels, reverse=True)
    assert facts.labels or facts.scores
    assert set(facts.spellings.values()) <= set(facts.labels)
    asked_alike = PROTOCOLS[question_of(name)]
    assert (asked_alike.unit, dict(asked_alike.labels)) == (facts.unit, dict(facts.labels))


def test_which_protocols_belong_together() -> None:
    assert offered() == ("pointwise", "pairwise", "arena", "absolute", "explanation")
    assert with_unit("pair") == same_question("arena") == same_question("pairwise") == ("pairwise", "arena")
    assert with_unit("list") == ("pointwise", "absolute")
    assert decidable() == ("pointwise", "pairwise", "arena")
    assert [name for name in SAER if compares_lists(name)] == ["pairwise"]
    assert question_of("of another version") == "of another version"


def test_no_other_module_names_a_protocol_or_the_aspect_of_the_whole_case() -> None:
    """`explanation` is the name of a unit too."""
    names = set(PROTOCOLS) - {"explanation"} | {OVERALL}
    quoted = re.compile(rf"""["'](?:{"|".join(map(re.escape, names))})["']""")
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in PACKAGE.rglob("*.py")
        if not str(path.relative_to(PACKAGE)).startswith(NAMING)
        and quoted.search(text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert found == []


def test_the_kinds_of_rater_are_those_of_the_database() -> None:
    schema = (data_dir("migrations") / "0001_initial.sql").read_text(encoding="utf-8")
    (line,) = (line for line in schema.splitlines() if "'ground_truth'" in line)
    assert set(ast.literal_eval(line[line.index("IN (") + 3 : line.rindex(")")])) == set(RATER_KINDS)


def test_the_roles_of_raters_fit_together() -> None:
    assert set(MACHINES) | set(PEOPLE) == set(RATER_KINDS)
    assert set(FIRST_HAND) < set(PERSONS) < set(PEOPLE)
    assert set(REFERENCES) == {*FIRST_HAND, "consensus"}
    assert set(REVIEWED) == set(RUN_RATERS) - set(WITHOUT_OPINION)
    assert set(BUILT_IN) == set(RUN_RATERS) - {"judge"}
    assert not set(WITHOUT_OPINION) & set(PEOPLE)
    assert set(COMBINED) == {"ensemble", "consensus"}
