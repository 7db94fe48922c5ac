"""What answers mean is decided by the whole set of them: one reading in which every kept answer fits, or a question."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from recjudge_tui.domain.protocols import PROTOCOLS
from recjudge_tui.domain.scales import Scale
from recjudge_tui.errors import InputError
from recjudge_tui.importers.codes import Codebook, Expected, Reading, Unclear, settle
from recjudge_tui.importers.folders import import_paths
from recjudge_tui.store.database import Database
from tests.support.importing import Load, rows_of

PAIR = Expected("pair", "pairwise", PROTOCOLS["pairwise"].labels, PROTOCOLS["pairwise"].value_of_word)
LABELS = Expected("labels", "pointwise", PROTOCOLS["pointwise"].labels, PROTOCOLS["pointwise"].value_of_word)
SCORES = Expected("scores", "accuracy", scale=Scale(1, 5))
# every usual coding of a pair, and of three labels, in numbers
CODINGS = {
    "pair": (
        {1: 1, 0: 0, -1: -1}, {1: 1, 0: -1}, {0: 1, 1: -1}, {1: 1, 2: -1}, {1: 1, 2: 0, 3: -1}, {1: 1, 2: -1, 3: 0},
        {0: 0, 1: 1, 2: -1}, {0: 1, 1: -1, 2: 0}, {n: (n < 3) - (n > 3) for n in range(1, 6)},
        {n: (n < 4) - (n > 4) for n in range(1, 8)}, {n: (n > 0) - (n < 0) for n in range(-2, 3)},
        {n: (n < 0) - (n > 0) for n in range(-2, 3)},
    ),
    "labels": ({2: 2, 1: 1, 0: 0}, {1: 0, 2: 1, 3: 2}, {1: 2, 2: 1, 3: 0}, {0: 0, 1: 2}, {1: 2, 2: 0}),
}  # fmt: skip
WORDS = {
    "pair": [
        "A", "b", "Tie", "model_a", "[[B]]", "C", "tie (bothbad)", "left", "chosen", "lose", "A much better", "A>>B",
        "?",
    ],
    "labels": ["Good", "partial", "Poor Match", "bad", "?"],
}  # fmt: skip
NUMBERS = ["-3", "-2", "-1", "0", "1", "1.0", "2", "3", "4", "5", "7", "0.5"]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("expected", [PAIR, LABELS, SCORES], ids=["pair", "labels", "scores"])
def test_one_reading_that_fits_or_a_question(expected: Expected, seed: int) -> None:
    rng = random.Random(f"{expected.form} {seed}")
    for _ in range(50):
        pool = rng.choice(
            [NUMBERS, WORDS.get(expected.form, NUMBERS), NUMBERS + WORDS.get(expected.form, [])]
        )
        counts = {text: rng.choice((1, 3, 40, 3000)) for text in rng.sample(pool, rng.randint(1, 4))}
        keep = rng.random() < 0.2
        reading = _settled(counts, expected, Codebook(keep_fitting=keep))
        if isinstance(reading, Unclear):
            assert reading.lines
            assert all(line.startswith(("--", "scale")) for line, _ in reading.lines)
        else:
            _check(reading, counts, expected, keep)


def _settled(counts: dict[str, int], expected: Expected, given: Codebook) -> Reading | Unclear:
    try:
        return settle(counts, expected, given)
    except Unclear as question:
        return question


def _check(reading: Reading, counts: dict[str, int], expected: Expected, keep: bool) -> None:
    assert reading.codes.keys() | reading.strays.keys() == counts.keys()
    assert not reading.codes.keys() & reading.strays.keys()
    lost, kept = sum(reading.strays.values()), sum(counts[text] for text in reading.codes)
    assert keep or lost == 0 or (lost < 20 and lost < 0.01 * (lost + kept))
    if expected.form == "scores":
        assert all(1 <= code.value <= 5 for code in reading.codes.values() if code.value is not None)
        return
    assert {code.value for code in reading.codes.values()} <= {*expected.names, None}
    numbers = {
        float(t): c.value for t, c in reading.codes.items() if t.lstrip("-").replace(".", "").isdigit()
    }
    if not numbers or keep or any(abs(number) == 3 for number in numbers):
        return
    fitting = [coding for coding in CODINGS[expected.form] if numbers.keys() <= set(coding)]
    meanings = {tuple(sorted((n, coding[n]) for n in map(int, numbers))) for coding in fitting}
    # a tie beside answers in words is the only number that has one meaning
    assert len(meanings) == 1 or numbers.keys() == {0.0} or -1 in numbers


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        ("A B Tie", "1 -1 0"), ("1 -1 0", "1 -1 0"), ("model_a|model_b|tie|tie (bothbad)", "1 -1 0 0"),
        ("model_1 model_2", "1 -1"), ("model_0 model_1", "1 -1"), ("[[A]] [[B]] [[C]]", "1 -1 0"),
        ("[[A>>B]] [[A=B]] [[B>A]]", "1 0 -1"), ("left right both", "1 -1 0"), ("chosen rejected", "1 -1"),
        ("win lose tie", "1 -1 0"),
        ("A much better|A slightly better|about the same|B is slightly better|B much better", "1 1 0 -1 -1"),
        ("Response A|Response B|Assistant A", "1 -1 1"), ("strongly prefer A|prefer B|no preference", "1 -1 0"),
        ("-3 -2 -1 0 1 2 3", "-1 -1 -1 0 1 1 1"),
    ],
)  # fmt: skip
def test_answers_of_other_tools(texts: str, values: str) -> None:
    words = texts.split("|") if "|" in texts else texts.split()
    codes = settle(dict.fromkeys(words, 5), PAIR).codes
    assert [codes[word].value for word in words] == [float(value) for value in values.split()]


@pytest.mark.parametrize(
    ("expected", "texts"),
    [
        *((PAIR, text) for text in ("0 1", "1 2", "1 2 3", "0 1 2", "-2 -1 0 1 2", "1 2 3 4 5 6 7", "1", "0", "2", "true false")),  # noqa: E501
        *((PAIR, text) for text in ("a_bit_better", "a_lot_better a_little_better", "a_is_not_better")),
        *((PAIR, text) for text in ("model_1", "model_1 tie", "A B 1", "A B D", "1 2 A", "yes no", "0.5 0.7")),
        *((LABELS, text) for text in ("0 1", "1 2", "1 2 3", "1", "2", "-2 -1 0 1 2", "1 2 3 4 5", "Good Bad", "Good 1")),
        *((SCORES, text) for text in ("0 1 2 3 4 5", "1 7", "6", "good bad", "0.5 1")),
    ],
)  # fmt: skip
def test_what_fits_in_part_or_in_two_ways_is_asked(expected: Expected, texts: str) -> None:
    with pytest.raises(Unclear) as asked:
        settle(dict.fromkeys(texts.split(), 40), expected)
    assert all(f"“{text}” (40 rows)" in asked.value.cause for text in texts.split())


def test_a_few_strays_are_left_out_and_named() -> None:
    reading = settle({"A": 3000, "B": 2000, "?": 19}, PAIR)
    assert (len(reading.codes), reading.strays) == (2, {"?": 19})
    for counts in ({"A": 3000, "?": 20}, {"A": 99, "?": 1}, {"A": 1000, "1": 1000}):
        with pytest.raises(Unclear):
            settle(counts, PAIR)


@pytest.mark.parametrize(
    ("expected", "counts", "given", "values"),
    [
        (PAIR, {"1.0": 6, "2.0": 4}, Codebook({"1": "A", "2": "B"}), {"1.0": 1, "2.0": -1}),
        (PAIR, {"1": 6, "0": 4}, Codebook({"1": "A", "0": "B"}), {"1": 1, "0": -1}),
        (PAIR, {"yes": 6, "no": 4, "?": 9}, Codebook({"yes": "A", "no": "B", "?": ""}), {"yes": 1, "no": -1}),
        (PAIR, {"1": 3, "4": 3, "7": 3}, Codebook(ends=(1, 7)), {"1": 1, "4": 0, "7": -1}),
        (PAIR, {"1": 3, "4": 3, "7": 3}, Codebook(ends=(7, 1)), {"1": -1, "4": 0, "7": 1}),
        (PAIR, {"-2": 3, "0": 3, "1": 3}, Codebook(ends=(2, -2)), {"-2": -1, "0": 0, "1": 1}),
        (PAIR, {"A": 3, "B": 3, "D": 3}, Codebook(keep_fitting=True), {"A": 1, "B": -1}),
        (LABELS, {"1": 3, "2": 3, "3": 3}, Codebook({"1": "Poor", "2": "Partial", "3": "Good"}), {"1": 0, "2": 1, "3": 2}),
        (LABELS, {"0": 3, "1": 3, "2": 3}, Codebook(), {"0": 0, "1": 1, "2": 2}),
    ],
)  # fmt: skip
def test_a_line_settles_it(
    expected: Expected, counts: dict[str, int], given: Codebook, values: dict[str, float]
) -> None:
    assert {text: code.value for text, code in settle(counts, expected, given).codes.items()} == values


@pytest.mark.parametrize(
    ("expected", "counts", "line"),
    [
        (PAIR, {"1": 1000, "2": 900, "3": 2}, "--values 1=A,2=B"),
        (PAIR, {"-2": 400, "0": 300, "2": 400, "9": 1}, "--scale -2..2"),
        (LABELS, {"0": 900, "1": 800, "7": 3}, "--values 0=Poor,1=Partial,2=Good"),
        (LABELS, {"Good": 40, "Partially": 40, "Poor": 40}, "--values Partially=Partial"),
        (PAIR, {"=": 40, "first wins": 40, "D": 40}, "--values D=B"),
        (PAIR, {"A": 40, "B": 40, "A+": 40, "B+": 40}, "--values A+=A,B+=B"),
        (PAIR, {"0": 40, "2": 40, "4": 40}, "--scale 0..4"),
        (SCORES, {"0": 40, "1": 40, "3": 40}, "--scale 0..3"),
    ],
)
def test_the_line_that_is_most_likely_right_comes_first(
    expected: Expected, counts: dict[str, int], line: str
) -> None:
    with pytest.raises(Unclear) as asked:
        settle(counts, expected)
    assert asked.value.lines[0][0] == line


def test_where_a_scale_was_given_its_ends_are_the_answers_that_fit() -> None:
    with pytest.raises(Unclear, match="The answers are -3 to 3"):
        settle({"-3": 40, "2": 40, "5": 40}, PAIR, Codebook(ends=(-3, 3)))
    with pytest.raises(Unclear, match="The answers are A, B, Tie"):
        settle({"A": 40, "5": 40, "9": 40}, PAIR)


def test_an_unknown_meaning_is_refused() -> None:
    with pytest.raises(Unclear, match="“Best” is not an answer of pairwise"):
        settle({"1": 3}, PAIR, Codebook({"1": "Best"}))


# ---- through the import: each way in which answers are stored ----

HEAD = "rater,user_id,system_a,system_b,value\n"
WAYS: dict[str, tuple[str, str]] = {
    "plain": ("prefs.csv", "annotator,user_id,system_a,system_b,preference\n{rows}"),
    "json lines": ("prefs.jsonl", "{json}"),
    "in a known order": ("games.csv", "rater,user_id,system_a,system_b,shown_first,value\n{games}"),
    "both orders": ("both.csv", "rater,user_id,system_a,system_b,verdict_1,verdict_2\n{both}"),
}


def _file(way: str, values: list[str]) -> tuple[str, str]:
    name, form = WAYS[way]
    rows = "".join(f"r,u{n},ref,cand,{v}\n" for n, v in enumerate(values))
    lines = (
        f'{{"rater": "r", "user_id": "u{n}", "system_a": "ref", "system_b": "cand", "value": {v}}}'
        for n, v in enumerate(values)
    )
    games = "".join(f"r,u{n},ref,cand,ref,{v}\n" for n, v in enumerate(values))
    both = "".join(f"r,u{n},ref,cand,{v},{v}\n" for n, v in enumerate(values))
    return name, form.format(rows=rows, json="\n".join(lines), games=games, both=both)


@pytest.mark.parametrize("way", WAYS)
def test_a_winner_coded_1_and_2_stops_the_import_on_every_way(load: Load, db: Database, way: str) -> None:
    name, content = _file(way, ["1"] * 6 + ["2"] * 4)
    with pytest.raises(InputError, match=r"(?s)“1” \(\d+ rows\), “2” \(\d+ rows\).*--values 1=A,2=B"):
        load("labels", content, name)
    assert db.value("SELECT count(*) FROM projects") == 0
    assert load("labels", content, name, values={"1": "model_a", "2": "model_b"}).stored == 10
    assert Counter(db.column("SELECT label FROM v_verdicts WHERE system_a = 'cand'")) == {"B": 6, "A": 4}


def test_list_labels_coded_1_to_3(load: Load, db: Database) -> None:
    content = "rater,user_id,system,value\n" + "".join(f"ann,u{n},s,{n % 3 + 1}\n" for n in range(9))
    with pytest.raises(
        InputError, match=r"(?s)only some answers of pointwise fit.*--values 1=Poor,2=Partial,3=Good"
    ):
        load("labels", content)
    load("labels", content, scale=(1, 3))
    assert set(db.column("SELECT protocol || value FROM v_verdicts")) == {
        "absolute1.0",
        "absolute2.0",
        "absolute3.0",
    }


@pytest.mark.parametrize(("a", "b"), [("A", "B"), ("1", "2"), ("model_1", "model_2"), ("left", "right")])
@pytest.mark.parametrize(("meaning", "labels"), [("name", ["A", "B"]), ("", ["B", "A"])])
def test_a_name_that_is_also_the_other_side_is_asked_about(
    load: Load, db: Database, a: str, b: str, meaning: str, labels: list[str]
) -> None:
    content = HEAD + f"r,u1,{b},{a},{a}\nr,u2,{b},{a},{b}\n"
    with pytest.raises(InputError, match="the name of the other system") as asked:
        load("labels", content)
    for line in (f"--values {a}=name,{b}=name ", f"--values {a}=A,{b}=B "):
        assert line in str(asked.value.next_step)
    load("labels", content, values=dict(zip((a, b), (meaning, meaning) if meaning else "AB", strict=True)))
    assert db.column("SELECT label FROM v_verdicts ORDER BY user_id") == labels


def test_strength_is_kept_in_the_note(load: Load, db: Database) -> None:
    load("labels", HEAD + "r,u1,x,y,A much better\nr,u2,x,y,B slightly better\nr,u3,x,y,About the same\n")
    assert db.column("SELECT label FROM v_verdicts ORDER BY user_id") == ["A", "B", "Tie"]
    assert db.value("SELECT note FROM v_verdicts ORDER BY user_id") == "answer: A much better"


def test_left_and_right_with_a_case_in_every_form(load: Load, db: Database) -> None:
    load("labels", HEAD + "r,u1,a,b,A\nr,u2,a,b,A\n", "cases.csv")
    load("labels", "rater,case_id,value\ncsv,1,left\ncsv,2,right\n", "1.csv")
    load(
        "labels",
        '{"rater": "jsonl", "case_id": 1, "value": "left"}\n{"rater": "jsonl", "case_id": 2, "value": "right"}',
        "2.jsonl",
    )
    load(
        "labels",
        '[{"rater": "json", "case_id": 1, "value": "left"}, {"rater": "json", "case_id": 2, "value": "right"}]',
        "3.json",
    )
    assert rows_of(db, "SELECT rater, label FROM v_verdicts WHERE rater <> 'r' ORDER BY rater, case_id") == [
        (rater, label) for rater in ("csv", "json", "jsonl") for label in "AB"
    ]


def test_a_second_import_says_when_and_changes_nothing(db: Database, tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text(HEAD + "r,u1,x,y,A\nr,u2,x,y,B\n")
    [first] = import_paths(db, "p", [path], None)
    assert first.facts is not None
    assert (first.facts.labels, first.facts.on_lists) == (2, 0)
    [again] = import_paths(db, "p", [path], None)
    assert again.files[0].earlier == 1
    assert again.files[0].earlier_at[:2] == "20"


# ---- spellings, leftovers, meanings given, lines proposed ----

NAMES = "rater,user_id,system_a,system_b,winner\n"


@pytest.mark.parametrize(
    ("names", "answer", "name", "side"),
    [
        ("Model A|Model B", "model_a", "Model A", "A"), ("A|B", "a", "A", "A"), ("Left|Right", "left", "Left", "A"),
        ("D|C", "c", "C", "Tie"), ("System 1|System 2", "system_1", "System 1", "A"), ("A|B", "b", "B", "B"),
        ("model-a|model-b", "model_a", "model-a", "A"), ("item_knn|pop", "item knn", "item_knn", ""),
        ("Item KNN|pop", "Item  KNN", "Item KNN", ""),
    ],
)  # fmt: skip
def test_a_name_in_another_spelling(
    load: Load, db: Database, names: str, answer: str, name: str, side: str
) -> None:
    a, b = names.split("|")
    content = NAMES + f"ann,u1,{b},{a},{answer}\nann,u2,{a},{b},{answer}\n"
    if side:
        with pytest.raises(InputError, match="the name of the other system") as asked:
            load("labels", content)
        assert f"--values {answer}=name " in asked.value.next_step
        assert f"--values {answer}={side} " in asked.value.next_step
    load("labels", content, values={answer: "name"} if side else {})
    assert set(db.column("SELECT iif(label = 'A', system_a, system_b) FROM v_verdicts")) == {name}


@pytest.mark.parametrize(
    ("answers", "values", "lines"),
    [
        ("A,B,A,-1,-1", {}, "-1=B -1="), ("A,B,0,0", {}, "0=Tie 0="), ("A,B,1,-1,0", {}, "1=A,-1=B,0=Tie 1=,-1=,0="),
        ("1,2,1,-1", {"1": "A", "2": "B"}, "1=A,2=B,-1=B 1=A,2=B,-1="), ("0,0,-1", {}, "0=Tie,-1=B 0=Tie,-1="),
        ("1,2,0", {"1": "A", "2": "B"}, "1=A,2=B,0=Tie 1=A,2=B,0="),
    ],
)  # fmt: skip
def test_a_number_beside_words_or_given_values(answers: str, values: dict[str, str], lines: str) -> None:
    with pytest.raises(Unclear) as asked:
        settle(Counter(answers.split(",")), PAIR, Codebook(values))
    assert [line for line, _ in asked.value.lines][:2] == [f"--values {line}" for line in lines.split()]


@pytest.mark.parametrize(
    ("values", "labels", "idle"),
    [
        ({"als": "B", "bpr": "A"}, "BA", ""), ({"bpr": ""}, "A", ""), ({"alz": "A"}, "AB", "alz"),
        ({"als": "name", "x": "A", "y": ""}, "AB", "“x”, “y”"),
    ],
)  # fmt: skip
def test_a_meaning_of_a_name_counts_and_one_that_matches_nothing_is_named(
    load: Load, db: Database, values: dict[str, str], labels: str, idle: str
) -> None:
    [file] = load("labels", NAMES + "ann,u1,als,bpr,als\nann,u2,als,bpr,bpr\n", values=values).files
    assert "".join(db.column("SELECT label FROM v_verdicts ORDER BY user_id")) == labels
    assert any("change nothing" in text and idle in text for text in file.remarks) == bool(idle)


@pytest.mark.parametrize(
    ("expected", "texts", "ends", "line"),
    [
        (LABELS, "Partially|bad|Good", None, "--values 'Partially=Partial,bad=Good|Partial|Poor'"),
        (LABELS, "Good, mostly|Poor", None, r"--values 'Good\, mostly=Good'"),
        (PAIR, "A is not better|B", None, "--values 'A is not better=A|B|Tie'"), (SCORES, "5|-1", None, "--scale -1..5"),
        (SCORES, "5|maybe", None, "--values maybe="),
        (PAIR, "the blue one|A|B|Tie", None, "--values 'the blue one=A|B|Tie'"), (PAIR, "0|4|9", (1, 7), "--scale 0..9"),
        (PAIR, "0|4|9", (7, 1), "--scale 9..0"), (SCORES, "4,5|3", None, 'decimal = ","'),
        *((SCORES, text, None, 'value = { column = "value", pattern') for text in ("80%", "4/5", "5 - very good|4 - good")),
        (SCORES._replace(aspect="x"), "12.5", None, 'scale = { "x" = [0, 100] }'), (SCORES, "0|9", (1, 5), "--scale 0..9"),
    ],
)  # fmt: skip
def test_the_line_that_is_proposed_can_be_used(
    expected: Expected, texts: str, ends: tuple[float, float] | None, line: str
) -> None:
    with pytest.raises(Unclear) as asked:
        settle(dict.fromkeys(texts.split("|"), 5), expected, Codebook(ends=ends))
    assert asked.value.lines[0][0].startswith(line)
