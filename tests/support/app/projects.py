"""A project straight into the database: lists, a run with its calls, people, flags, flips and failures."""

from __future__ import annotations

import json
from pathlib import Path

from recjudge_tui.domain.material import ExplanationView, ItemView, ShownEvent, SlateView, UserView
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.runs.lease import acquire
from recjudge_tui.store.cases import CaseKey, ensure_case
from recjudge_tui.store.database import Database, now
from recjudge_tui.store.raters import ensure_rater
from recjudge_tui.store.schema import connect
from tests.support.hostile import project_of_any_name

FILMS = ("Heat", "Heat 2", "Ronin", "Collateral", "Thief", "The Insider", "Manhunter", "Drive")
REASON = "List A repeats the two sequels this user already rated, while B adds one new genre."


def make_project(path: Path, name: str = "movies", cases: int = 6, text: str = "") -> int:
    """A project with a finished pairwise run of the rater `qwen2.5:14b`, two annotators and a few words.

    Of every six pairs: 1 A, 2 flips with the order, 3 B with a flagged item, 4 failed, 5 A, 6 true tie. `text`
    is put into every place where data or a model may put it.
    """
    with connect(path) as db, db.transaction():
        project = project_of_any_name(db, f"{name}{text}" if text.strip() else name)
        source = _import(db, project, text)
        _catalogue(db, project, source, text)
        run = _run(db, project, "qwen2.5:14b" + text, "pairwise")
        people = [ensure_rater(db, project, f"{who}{text}", "annotator") for who in ("anna", "bert")]
        for number in range(cases):
            case = _pair(db, project, source, number, text)
            _judge(db, run, case, number % 6, text)
            for rater in people:
                _label(db, rater, case, ("A", 1.0) if number % 2 else ("B", -1.0), source, text)
    return project


def make_explanations(
    path: Path, project: int, text: str = "", scores: dict[str, dict[str, float]] | None = None
) -> int:
    """One explanation judged by a run of `rules-text`; returns the case.

    `scores` are those of further raters by aspect; `user` is the ground truth, `rouge` a metric, the rest annotate.
    """
    with connect(path) as db, db.transaction():
        run = _run(db, project, "rules-text", "explanation")
        said = "You liked Heat, so Ronin is for you." + text
        explanation = db.add("explanations", project_id=project, user_id="u0", item_id="i2", system="writer" + text,
                             text=said, digest="d")  # fmt: skip
        key = CaseKey("explanation", "u0", "writer" + text, item_id="i2", explanation_id=explanation)
        case = ensure_case(db, project, key)
        item = ItemView(item_id="i2", title="Ronin" + text)
        shown = _snapshot(db, "explanation", ExplanationView(item=item, text=said).model_dump_json())
        example = ExplanationView(item=ItemView(item_id="i3", title="Thief" + text), text="As you like Heat." + text,
                                  scores={"accuracy" + text: 3.0})  # fmt: skip
        example_shown = _snapshot(db, "explanation", example.model_dump_json())
        user = _snapshot(db, "user", _user("u0", text).model_dump_json())
        db.add("run_cases", run_id=run, case_id=case, user_snapshot=user, explanation_snapshot=shown,
               example_snapshot=example_shown)  # fmt: skip
        for aspect, value in (("accuracy", 4.0), ("transparency", 2.0)):
            call = _call(db, run, case, "", aspect + text)
            _answer(db, call, aspect + text, str(int(value)), value, f"Why {aspect}{text}")
            _verdict(db, run, case, aspect + text, "explanation", str(int(value)), value)
        for rater, given in (scores or {}).items():
            kind = {"user": "ground_truth", "rouge": "metric"}.get(rater, "annotator")
            identity = ensure_rater(db, project, rater + text, kind)  # type: ignore[arg-type]
            for aspect, value in given.items():
                label = "" if kind == "metric" else f"{value:g}"
                _label(db, identity, case, (label, value), None, text, aspect + text, "explanation")
    return case


ASPECTS = ("accuracy", "satisfaction", "inspiration", "content_quality", "transparency", "impact", "overall")


def make_arena(path: Path, project: int, text: str = "") -> int:
    """The project's first pair judged by the arena's run of `llama`; returns the case.

    Both orders say A but on inspiration, where the order decides; a call wrote the user's profile.
    """
    with connect(path) as db, db.transaction():
        run = _run(db, project, "llama" + text, "arena")
        db.execute(
            "UPDATE prompts SET content = ? WHERE name = 'arena'",
            (json.dumps({"aspects": [{"name": aspect + text} for aspect in ASPECTS]}),),
        )
        case: int = db.value("SELECT min(id) FROM cases WHERE project_id = ? AND kind = 'pair'", (project,))
        seen = "user_snapshot, slate_a_snapshot, slate_b_snapshot"
        db.execute(
            f"INSERT INTO run_cases (run_id, case_id, {seen}) SELECT ?, case_id, {seen} FROM run_cases WHERE case_id = ?",
            (run, case),
        )
        writing = _call(db, run, case, "", "@profile")
        profile = json.dumps({"profile": "Likes tense films of the nineties." + text})
        db.execute("UPDATE calls SET reply = ? WHERE id = ?", (profile, writing))
        calls = {order: _call(db, run, case, order, "") for order in ("ab", "ba")}
        for aspect in ASPECTS:
            flips = aspect == "inspiration"
            for order, call in calls.items():
                label = "B" if flips and order == "ba" else "A"
                said = f"On {aspect} the {order} reading.{text}"
                _answer(db, call, aspect + text, label, 1.0 if label == "A" else -1.0, said)
            verdict = ("Tie", 0.0) if flips else ("A", 1.0)
            _verdict(db, run, case, aspect + text, "arena", *verdict, consistent=not flips)
    return case


def make_absolute(path: Path, project: int) -> int:
    """The first list of the project scored from 0 to 1; returns the case."""
    with connect(path) as db, db.transaction():
        run = _run(db, project, "grader", "absolute")
        slate = db.row("SELECT id, user_id, system FROM slates WHERE project_id = ? ORDER BY id", (project,))
        case = ensure_case(
            db, project, CaseKey("list", slate["user_id"], slate["system"], slate_a=slate["id"])
        )
        user = _snapshot(db, "user", _user(slate["user_id"], "").model_dump_json())
        db.add("run_cases", run_id=run, case_id=case, user_snapshot=user)
        _answer(db, _call(db, run, case, "", ""), "overall", "0.72", 0.72, "Mostly to my taste.")
        _verdict(db, run, case, "overall", "absolute", "0.72", 0.72)
        metric = ensure_rater(db, project, "ndcg@10", "metric")
        _label(db, metric, case, ("", 0.31), None, "", "overall", "absolute")
    return case


def _answer(
    db: Database, call: int, aspect: str, label: str, value: float, reasoning: str, **more: float
) -> None:
    db.add("answers", call_id=call, aspect=aspect, value=value, label=label, reasoning=reasoning, **more)


def start_run(path: Path, project: int, calls: int = 4) -> int:
    """A run that this process works on, with planned calls and no verdict yet."""
    with connect(path) as db, db.transaction():
        run = _run(db, project, "live", "pairwise", "running")
        cases = [r[0] for r in db.rows("SELECT id FROM cases WHERE project_id = ? LIMIT ?", (project, calls))]
        for case in cases:
            _call(db, run, case, "ab", "", "planned")
    with connect(path) as db:
        acquire(db, run)
    return run


def fail_run(path: Path, project: int, rater: str = "llama") -> int:
    """A newer run on the same pairs whose calls all failed."""
    with connect(path) as db, db.transaction():
        run = _run(db, project, rater, "pairwise")
        for case in db.column("SELECT id FROM cases WHERE project_id = ? AND kind = 'pair'", (project,)):
            _call(db, run, case, "ab", "", "failed")
            _verdict(db, run, case, "overall", "pairwise", "", None)
    return run


def finish_call(path: Path, run: int) -> None:
    """One more of the run's calls is done and has its verdict."""
    with connect(path) as db, db.transaction():
        call = db.row(
            "SELECT id, case_id FROM calls WHERE run_id = ? AND state = 'planned' ORDER BY id", (run,)
        )
        db.execute("UPDATE calls SET state = 'done' WHERE id = ?", (call["id"],))
        _answer(db, call["id"], "overall", "A", 1.0, "Fresh from the run.")
        _verdict(db, run, call["case_id"], "overall", "pairwise", "A", 1.0)


def end_run(path: Path, run: int) -> None:
    with connect(path) as db:
        db.execute("UPDATE runs SET state = 'done', lease_owner = NULL WHERE id = ?", (run,))


def _import(db: Database, project: int, text: str) -> int:
    return db.add("imports", project_id=project, kind="lists", layout="plain", path=f"lists{text}.csv", sha256="x",
                  rows_read=1, rows_stored=1, rows_skipped=0, created_at=now())  # fmt: skip


def _catalogue(db: Database, project: int, source: int, text: str) -> None:
    for place, title in enumerate(FILMS):
        db.execute(
            "INSERT INTO items VALUES (?, ?, ?, ?, ?, 'crime', '{}', NULL)",
            (project, f"i{place}", source, title + text, f"brand{text}"),
        )
    db.execute(
        "INSERT INTO users VALUES (?, 'u0', ?, ?)", (project, source, json.dumps({"age": "25-34" + text}))
    )
    db.add("events", project_id=project, import_id=source, user_id="u0", type="rating", item_id="i0",
           timestamp="2024-05-01T12:00:00+00:00", value=4)  # fmt: skip


def _user(user_id: str, text: str) -> UserView:
    event = ShownEvent(
        type="rating",
        timestamp="2024-05-01T12:00:00+00:00",
        item=ItemView(item_id="i0", title="Heat" + text),
        value=4.0,
    )
    return UserView(
        user_id=user_id,
        attributes={"age": "25-34", "job": "writer" + text},
        history=(event,),
        searches=(ShownEvent(type="search", text="heist films" + text),),
        browsed=("crime" + text,),
        preferences=("prefers thrillers" + text,),
    )


def _slate(db: Database, project: int, user: str, system: str, items: list[int], source: int) -> int:
    slate = db.add("slates", project_id=project, user_id=user, system=system, length=len(items),
                   digest=f"{user}{system}")  # fmt: skip
    for rank, item in enumerate(items, 1):
        db.execute("INSERT INTO slate_items VALUES (?, ?, ?, NULL)", (slate, rank, f"i{item}"))
    db.execute("INSERT INTO slate_imports VALUES (?, ?)", (slate, source))
    return slate


def _pair(db: Database, project: int, source: int, number: int, text: str) -> int:
    user = f"u{number}" + (text if number == 1 else "")
    a = _slate(db, project, user, "als" + text, [0, 1, 2, 3, 4], source)
    b = _slate(db, project, user, "cooc" + text, [0, 2, 5, 6, 7], source)
    return ensure_case(db, project, CaseKey("pair", user, "als" + text, "cooc" + text, "", a, b))


_PROMPT = {
    "name": "p",
    "aspects": [{"name": "overall", "field": "overall"}],
    "system": "Judge.",
    "user": "The case.",
}
_PAIR = [{"name": name, "reply": name, "value": value} for name, value in (("A", 1), ("Tie", 0), ("B", -1))]
_ANSWERS: dict[str, dict[str, object]] = {
    "pairwise": {"labels": _PAIR},
    "arena": {"labels": _PAIR},
    "explanation": {
        "scale": {"low": 1, "high": 5},
        "aspects": [{"name": name, "field": name} for name in ("accuracy", "transparency")],
    },
    "absolute": {"scale": {"low": 0, "high": 1}},
}


def _run(db: Database, project: int, rater: str, protocol: str, state: str = "done") -> int:
    content = json.dumps(_PROMPT | _ANSWERS[protocol] | {"protocol": protocol})
    prompt = db.value("SELECT id FROM prompts WHERE name = ?", (protocol,)) or db.add(
        "prompts", name=protocol, version=3, protocol=protocol, digest=protocol, content=content, origin="shipped",
        created_at=now(),
    )  # fmt: skip
    judge = json.dumps({"spec": f"ollama:{rater}"})
    settings = RunSettings.model_validate({"protocol": protocol}).model_dump_json()
    return db.add("runs", project_id=project, rater_id=ensure_rater(db, project, rater, "judge"), prompt_id=prompt,
                  protocol=protocol, judge=judge, settings=settings, state=state, created_at=now())  # fmt: skip


def _snapshot(db: Database, kind: str, content: str) -> int:
    found: int | None = db.value("SELECT id FROM snapshots WHERE digest = ?", (content[:2000],))
    return found or db.add("snapshots", digest=content[:2000], kind=kind, content=content)


def _judge(db: Database, run: int, case: int, what: int, text: str) -> None:
    def shown(items: list[int]) -> int:
        views = tuple(ItemView(item_id=f"i{i}", title=FILMS[i] + text, category="crime") for i in items)
        return _snapshot(db, "slate", SlateView(items=views).model_dump_json())

    user = db.value("SELECT user_id FROM cases WHERE id = ?", (case,))
    seen = _snapshot(db, "user", _user(user, text).model_dump_json())
    db.add("run_cases", run_id=run, case_id=case, user_snapshot=seen, slate_a_snapshot=shown([0, 1, 2, 3, 4]),
           slate_b_snapshot=shown([0, 2, 5, 6, 7]))  # fmt: skip
    labels = (("A", "A"), ("A", "B"), ("B", "B"), ("A", ""), ("A", "A"), ("Tie", "Tie"))[what]
    value = {"A": 1.0, "B": -1.0, "Tie": 0.0}
    for order, label in zip(("ab", "ba"), labels, strict=True):
        call = _call(db, run, case, order, "", "done" if label else "failed", text)
        if label:
            said = f"{REASON}{text} ({case} {order})"
            _answer(db, call, "overall", label, value[label], said, confidence=0.5)
        if what == 2 and order == "ab":
            db.add("flags", call_id=call, item_id="i1", issue="minimum_variation" + text,
                   reason="The sequel of a film the user rated." + text)  # fmt: skip
    if not labels[1]:
        _verdict(db, run, case, "overall", "pairwise", "", None, note=f"Set 2 was never answered.{text}")
    else:
        first, second = labels
        label = first if first == second else "Tie"
        _verdict(
            db, run, case, "overall", "pairwise", label, value[label],
            consistent=first == second, confidence=0.4 + what / 10, flags=int(what == 2),
        )  # fmt: skip


def _call(
    db: Database, run: int, case: int, order: str, aspect: str, state: str = "done", text: str = ""
) -> int:
    failed = state == "failed"
    return db.add(
        "calls", run_id=run, case_id=case, list_order=order, aspect=aspect, state=state, attempts=3 if failed else 1,
        error_kind="bad_reply" if failed else None, error=f"no JSON in the reply{text}" if failed else None,
        parsed_by="schema",
    )  # fmt: skip


def _verdict(
    db: Database, run: int, case: int, aspect: str, protocol: str, label: str, value: float | None, *,
    consistent: bool | None = None, confidence: float | None = None, flags: int = 0, note: str = "",
) -> int:  # fmt: skip
    rater, project = db.rows("SELECT rater_id, project_id FROM runs WHERE id = ?", (run,))[0]
    return db.add(
        "verdicts", rater_id=rater, case_id=case, aspect=aspect, protocol=protocol, run_id=run,
        state="ok" if value is not None else "failed", value=value, label=label, rule="both_orders",
        order_consistent=consistent, confidence=confidence, flag_count=flags, note=note, created_at=now(),
        project_id=project,
    )  # fmt: skip


def _label(
    db: Database, rater: int, case: int, said: tuple[str, float], source: int | None, text: str,
    aspect: str = "overall", protocol: str = "pairwise",
) -> None:  # fmt: skip
    db.add(
        "verdicts", rater_id=rater, case_id=case, aspect=aspect, protocol=protocol, import_id=source, state="ok",
        value=said[1], label=said[0], rule="imported", note=f"seen twice{text}", created_at=now(),
        project_id=db.value("SELECT project_id FROM raters WHERE id = ?", (rater,)),
    )  # fmt: skip
