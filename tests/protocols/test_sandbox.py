"""A prompt is a file from anybody: its templates get plain data, reach nothing else, and end before they cost much."""

from __future__ import annotations

import time
import tracemalloc
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import BuiltinMethodType, MethodType
from typing import Any

import pytest
from jinja2 import StrictUndefined, Template, TemplateError, Undefined
from jinja2.runtime import LoopContext

from recjudge_tui.domain.calls import Sampling
from recjudge_tui.domain.prompt import ProfileSpec
from recjudge_tui.errors import PromptError
from recjudge_tui.protocols import sandbox as limits
from recjudge_tui.protocols.lint import bare_material, lint, sample_material
from recjudge_tui.protocols.registry import profile_request, protocol
from recjudge_tui.protocols.rendering import environment, messages, profile_messages, user_text
from recjudge_tui.protocols.sandbox import Record, plain, record
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import get_prompt, prompt_toml
from recjudge_tui.store.schema import connect
from tests.support.cases import SHIPPED, SHOPPER, STRANGER, explained, listed, material_for, shipped
from tests.support.runs import make_project, ran

LIST = shipped("pointwise-shopping")
PLAIN = (str, int, float, bool, type(None), dict, list, tuple, Record)
METHODS = (BuiltinMethodType, MethodType)


@pytest.fixture
def db(project_db: Path) -> Iterator[Database]:
    with connect(project_db) as database:
        yield database


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The names that reach a template, whatever renders it."""
    names: list[dict[str, Any]] = []
    generate = Template.generate

    def noting(template: Template, given: dict[str, Any]) -> Iterator[str]:
        names.append(given)
        return generate(template, given)

    monkeypatch.setattr(Template, "generate", noting)
    return names


def parts(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, dict):
        for key, part in value.items():
            assert type(key) is str
            yield from parts(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from parts(part)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_template_is_given_plain_data_only(name: str, given: list[dict[str, Any]]) -> None:
    # another text, so that no other test has rendered it
    prompt = shipped(name).model_copy(update={"system": shipped(name).system + f"\n{name}"})
    rules = protocol(prompt.protocol)
    kind = protocol(prompt.protocol).facts.unit
    for material in (
        sample_material(kind),
        bare_material(kind),
        material_for(name),
        material_for(name, STRANGER),
    ):
        for order in rules.orders:
            rules.request(prompt, material, order, "", Sampling())
        if prompt.profile:
            profile_request(prompt, material, Sampling())
    assert {"labels", "examples", "good_from"} <= set().union(*given)
    assert {"user", "slates", "explanation", "example", "aspects", "variables", "top_k"} <= set().union(
        *given
    )
    values = [part for names in given for part in parts(names)]
    assert {type(value) for value in values} <= set(PLAIN)
    kinds = {value.kind.__name__ for value in values if type(value) is Record}
    assert {"UserView", "ItemView", "ShownEvent", "AspectSpec"} <= kinds


def reachable(sandbox: Any, start: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """Everything a template can reach from these values by any name or place, with the way there."""
    queue = deque(("", value) for value in start)
    seen: dict[object, Any] = {}
    while queue:
        way, value = queue.popleft()
        if alike(value) in seen or way.count(".") > 4:
            continue
        seen[alike(value)] = value
        yield way, value
        if isinstance(value, (dict, list, tuple)):
            queue += [(f"{way}[]", part) for part in parts(value)][1:]
        for name in (*dir(value), "__globals__", "__self__", "gi_frame", "cr_frame", "func_code"):
            for reach in (sandbox.getattr, sandbox.getitem):
                try:
                    found = reach(value, name)
                except TemplateError:
                    continue
                if not isinstance(found, Undefined):
                    queue.append((f"{way}.{name}", found))


def alike(value: Any) -> object:
    """The same for values of which one is enough: from any two texts or numbers the same names can be reached."""
    if isinstance(value, METHODS):
        return type(value.__self__), value.__name__
    return type(value) if isinstance(value, (str, int, float)) else id(value)


def check_reachable(sandbox: Any, start: list[Any], also: tuple[type, ...] = ()) -> set[type]:
    kinds = set()
    for way, value in reachable(sandbox, start):
        kinds.add(type(value))
        if isinstance(value, METHODS):
            assert isinstance(value.__self__, (str, dict)), way
            assert not value.__name__.startswith("_"), way
            assert value.__name__ not in ("format", "format_map", "encode", "update", "pop"), way
        elif value not in start:
            assert type(value) in (*PLAIN, *also), way
    return kinds


@pytest.mark.parametrize("part", ["system", "user"])
def test_nothing_but_plain_data_and_harmless_methods_can_be_reached(part: str) -> None:
    sandbox = environment(part)
    records = [record(SHOPPER), plain(LIST.examples), plain(LIST.labels), plain(explained(accuracy=4.0))]
    kinds = check_reachable(sandbox, [*records, "text", 1, 1.5, True, None, {"a": {"b": [1]}}])
    assert kinds >= {Record, str, dict, tuple, BuiltinMethodType}


def test_nothing_can_be_reached_from_a_global_a_view_or_a_loop() -> None:
    sandbox = environment("user")
    assert set(sandbox.globals) == {"range"}
    for value in (sandbox.globals["range"], {}.items(), {}.keys()):
        assert [way for way, _ in reachable(sandbox, [value])] == [""], value
    loop = LoopContext([1, 2, 3], StrictUndefined)
    next(loop)
    assert check_reachable(sandbox, [loop]) == {LoopContext, bool, int}


def test_the_results_of_filters_lead_nowhere() -> None:
    sandbox = environment("user")
    context = sandbox.from_string("").new_context()
    user = record(SHOPPER)
    calls = [
        (name, value, ())
        for name in sandbox.filters
        for value in (
            user,
            user["history"],
            user["attributes"],
            user["browsed"],
            "some text",
            3.5,
            user["history"][0]["item"],
        )
    ]
    calls.append(("map", user["history"], ("item_line",)))
    done = set()
    for name, value, args in calls:
        try:
            result = sandbox.call_filter(name, value, args, context=context)
        except (TemplateError, TypeError, ValueError, AttributeError, LookupError):
            continue
        done.add(name)
        for way, found in reachable(sandbox, [result]):
            text = isinstance(found, str) and hasattr(found, "format")
            listed_kind = isinstance(found, METHODS) or type(found) in PLAIN
            assert way == "" or text or listed_kind, (name, way)
            if isinstance(found, METHODS):
                assert isinstance(found.__self__, (str, dict)), (name, way)
    assert len(done) > 30
    assert {"map", "item_line", "event_lines", "items"} <= done


ATTACKS = (
    "user.parse_raw('x', proto='pickle', allow_pickle=true)", "user.parse_file('/etc/passwd')", "user.model_dump()",
    "user.model_copy(update={})", "user.copy()", "user.construct()", "user.from_orm(user)", "user.update_forward_refs()",
    "user.model_fields", "user.__class__", "''.__class__.__mro__[1].__subclasses__()", "user['__class__']",
    "user | attr('__class__')", "(user | attr('parse_raw'))('x')", "user['parse_raw']('x')",
    "(user.history | map(attribute='parse_raw') | first)('x')", "user.history | map(attribute='__class__') | list",
    "user.history | map(attribute='history.__class__') | list", "user.history | map('attr', '__class__') | list",
    "user.history | sort(attribute='__class__')", "user.history | groupby('__class__')",
    "user.history | selectattr('__class__') | list", "user.history | unique(attribute='__class__') | list",
    "user.history | sum(attribute='__class__')", "user.history | min(attribute='__class__')",
    "user.history.__init__.__globals__", "user.attributes.items.__self__", "''.join.__self__",
    "'{0.__class__}'.format(user)", "'{x.__class__}'.format_map({'x': user})", "('{0.__class__}' | attr('format'))(user)",
    "('{0.__class__}' | safe).format(user)", "'x'.encode('idna')", "'x'.translate({})", "'x'.center(9)", "'1'.zfill(9)",
    "user.attributes.__class__.__mro__", "user.attributes.update({})", "user.attributes.pop('age')", "[].append(1)",
    "range.__class__", "range(3).start.__class__", "dict.fromkeys.__self__", "dict.__globals__",
    "namespace.__init__.__globals__", "namespace(a=1).__class__", "namespace(a=1)._Namespace__attrs", "cycler('a')",
    "cycler.__init__.__globals__", "joiner(', ')", "lipsum.__globals__", "self.__init__.__globals__",
    "self._TemplateReference__context", "missing.__class__", "user.nothing._undefined_obj", "(1).real",
    "(1).bit_length()", "(user.attributes | items).gi_frame", "user.attributes.items().mapping",
    "(user.history | groupby('user_id') | first)._asdict()", "dict.mro()", "user[0]", "range[0]",
)  # fmt: skip
STATEMENTS = (
    "{% for x in [1] %}{{ loop.__init__.__globals__ }}{% endfor %}", "{% for x in [1] %}{{ loop._iterable }}{% endfor %}",
    "{% for x in [1] %}{{ loop['__class__'] }}{% endfor %}", "{% include '/etc/passwd' %}",
    "{% set c = user.__class__ %}", "{% if user.__class__ %}x{% endif %}", "{% do user.pop() %}",
)  # fmt: skip
TEMPLATES = (*(f"{{{{ {attack} }}}}" for attack in ATTACKS), *STATEMENTS)


@pytest.mark.parametrize("attack", TEMPLATES)
def test_an_attack_is_refused_with_its_line_in_every_text(attack: str) -> None:
    template = f"First line.\n\n{attack}"
    attacks = [LIST.model_copy(update={"user": template})]
    # the system text knows no user
    named = "{% set user = examples[0] %}" if "user" in attack else ""
    attacks.append(LIST.model_copy(update={"system": f"First line.\n\n{named}{attack}"}))
    for prompt in attacks:
        with pytest.raises(PromptError) as caught:
            messages(prompt, listed())
        assert "line 3: " in caught.value.cause
        assert "recjudge_tui" not in caught.value.cause
        assert lint(prompt) != []
    profile = LIST.model_copy(update={"profile": ProfileSpec(system="x", user=template)})
    with pytest.raises(PromptError) as caught:
        profile_messages(profile, listed())
    assert "line 3: " in caught.value.cause


@pytest.mark.parametrize("template", [
    "{% for a in [1] %}" * 40 + "{% endfor %}" * 40,
    "{{ " + "(" * 400 + "1" + ")" * 400 + " }}",
    "{{ " + "9" * 5000 + " }}",
    "{{ x | nothing }}",
    "{{ [] | max | min }}",
])  # fmt: skip
def test_any_fault_of_a_template_is_one_message_of_lint(template: str) -> None:
    findings = lint(LIST.model_copy(update={"user": template}))
    assert len(findings) == 1
    assert "cannot be rendered" in findings[0]
    assert ".." not in findings[0]


def payload(marker: Path) -> str:
    """A template that makes a file where pydantic's old methods can be reached: a pickle that runs a command."""
    pickled = f"cos\\nsystem\\n(S'touch {marker}'\\ntR."
    return f"{{{{ user.parse_raw(\"{pickled}\", proto='pickle', allow_pickle=true) }}}}"


def test_a_pickle_in_a_prompt_runs_nothing_from_a_file_or_a_database(db: Database, tmp_path: Path) -> None:
    make_project(db, users=2)
    marker = tmp_path / "marker"
    evil = LIST.model_copy(update={"name": "evil", "user": f"{payload(marker)}\n{LIST.user}"})
    path = tmp_path / "evil.toml"
    path.write_text(prompt_toml(evil), encoding="utf-8")

    code, out, err = ran("prompt", "lint", path)
    assert (code, err) == (1, "")
    assert out.startswith(f"{path}:")
    assert "a user has no “parse_raw” for a template" in out
    _, _, err = ran("prompt", "add", path, "--db", db.path)
    assert "a user has no “parse_raw” for a template" in err
    assert "Traceback" not in err
    # a database from somebody else holds it whatever our own commands would store
    db.execute("DELETE FROM prompts WHERE name = 'evil'")
    db.execute(
        """INSERT INTO prompts (name, version, protocol, digest, content, origin, created_at)
           VALUES ('evil', 1, 'pointwise', ?, ?, 'user', '')""",
        (evil.content_hash, evil.model_dump_json()),
    )
    assert get_prompt(db, "evil")[2] == evil
    assert ran("run", "pointwise", "-p", "films", "--judge", "rules", "--db", db.path)[0] == 0, (
        "there are cases"
    )
    films = ("run", "pointwise", "-p", "films", "--prompt", "evil")
    for words in (
        (*films, "--judge", "openai:m", "--base-url", "http://127.0.0.1:9/v1", "--dry-run"),
        (*films, "--judge", "rules"),
        ("prompt", "show", "evil", "--case", 1),
        ("prompt", "try", "evil", "--case", 1, "--judge", "rules"),
    ):
        code, _, err = ran(*words, "--db", db.path)
        assert code == 1, words
        assert "a user has no “parse_raw” for a template" in err, words
        assert "line 1" in err, words
        assert "Traceback" not in err, words
    assert not marker.exists()


DOUBLED = "{% set x = 'ab' %}" + "{% set x = x ~ x %}" * 60
BOMBS = {
    "a huge range": "{% for i in range(9999999999) %}x{% endfor %}",
    "loops in loops": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "a filter in a loop": "{% for i in range(99999) %}{{ range(9999) | max }}{% endfor %}",
    "a loop whose condition is never true": "{% for i in range(99999) %}{% for j in range(99999) if false %}{% endfor %}"
    "{% endfor %}",
    "a product": "{% set x = 7 %}" + "{% set x = x * x %}" * 40,
    "a doubled text": DOUBLED,
    "a doubled join": DOUBLED.replace("x ~ x", "[1, 2, 3] | join(x)"),
    "one long join of `~`": "{% set a = 'aaaaaaaaaa' * 1 %}{{ a }}".replace(
        "'aaaaaaaaaa' * 1", "'" + "a" * 90000 + "'"
    )
    + "{{ a ~ (a ~ (a ~ a)) }}",
    "a wide field": "{{ '%1000000000d' | format(1) }}",
    "a field of any width": "{{ '%*d' | format(1000000000, 1) }}",
    "a field with a star by name": "{{ '%(a)*d' | format(a=1000000000) }}",
    "a digit after the point": "{{ '%.1000000000f' | format(1.5) }}",
    "a long text formatted into many": "{{ '" + "%(a)s" * 9000 + "' | format(a='" + "b" * 90000 + "') }}",
    "a text in characters": "{{ '" + "aé" * 40000 + "' | list | length }}",
    "a text split": "{% for i in range(99999) %}{{ '"
    + "a," * 9000
    + "'.split(',') | sort | length }}{% endfor %}",
    "characters of a generator": "{{ range(99999) | map('string') | join('" + ", " * 999 + "') | length }}",
    "searches in one select": "{% set t = '" + "a" * 90000 + "' %}{% for i in range(99) %}"
    "{{ range(99999) | map('string') | select('in', t) | list | length }}{% endfor %}",
    "a long test": "{% for i in range(99999) %}{% if '"
    + "A" * 90000
    + "' is upper %}{% endif %}{% endfor %}",
    "a huge hexadecimal number": "{{ '" + "f" * 90000 + "' | int(base=16) * 2 }}",
    "a number that Python does not write": "{{ 'inf' | float | int }}",
    "a part that includes itself": "{% include 'itself' %}",
    "a text of parts in a loop": "{% for i in range(99999) %}{% include 'long' %}{% endfor %}",
}
# what a template does not need, and what would let values grow from one turn of a loop to the next
REFUSED = (
    "{% macro m() %}{{ m() }}{% endmacro %}", "{% call m() %}{% endcall %}", "{% set x %}a{% endset %}", "{{ 9 ** 9 }}",
    "{% block b %}{{ self.b() }}{% endblock %}", "{% filter upper %}a{% endfilter %}", "{% with a = 1 %}{% endwith %}",
    "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", "{% set n.x = 1 %}", "{% set a = 1 %}{{ [a, a] }}",
    "{% set a = 1 %}{{ {1: a} }}", "{{ (user, user) }}", "{{ 'a' * 9 }}", "{{ [1] + [2] }}", "{{ '%s' % 1 }}",
    "{% extends 'long' %}", "{% import 'long' as l %}", "{% from 'long' import m %}", "{{ namespace(a=1) }}",
    "{{ dict(a=1) }}", "{{ 'a'.replace('a', 'b') }}", "{{ 'a'.join('bc') }}", "{{ 'a' | attr('upper') }}",
)  # fmt: skip


@pytest.fixture
def _small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SECONDS", 0.2)
    monkeypatch.setattr(limits, "LONGEST", 100_000)
    monkeypatch.setattr(limits, "MOST_MADE", 1_000_000)


@pytest.mark.usefixtures("_small_limits")
@pytest.mark.parametrize("name", BOMBS)
def test_templates_that_never_end_or_fill_the_memory_are_refused(name: str) -> None:
    parts = {
        "itself": "{% include 'itself' %}",
        "long": "word " * 2000,
    }
    prompt = LIST.model_copy(update={"user": "first line\n" + BOMBS[name], "parts": parts})
    started = time.process_time()
    tracemalloc.start()
    with pytest.raises(PromptError) as caught:
        user_text(prompt, listed(), "")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    where = ("In its user text, line 2: ", "In its part “itself”", "In its user text: a text of more than")
    assert caught.value.cause.startswith(where)
    assert time.process_time() - started < 8
    assert most < 4_000_000


@pytest.mark.parametrize("template", REFUSED)
def test_what_is_not_in_the_language_is_refused_with_its_line(template: str) -> None:
    (finding,) = lint(LIST.model_copy(update={"user": f"one\n{template}"}))
    assert "In its user text, line 2: " in finding


def test_a_text_of_very_many_tags_is_refused_before_it_is_compiled() -> None:
    with pytest.raises(PromptError, match="more than 5,000 tags"):
        user_text(LIST.model_copy(update={"user": "{% set a = 1 %}" * 9999}), listed(), "")


def test_lint_names_the_line_and_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    # a busy machine may need so long for these steps that the other limit would be met first
    monkeypatch.setattr(limits, "SECONDS", 60.0)
    template = (
        "{{ user.user_id }}\n{% for i in range(3000) %}\n{% for j in range(90) %}{% endfor %}{% endfor %}"
    )
    (finding,) = lint(LIST.model_copy(update={"user": template}))
    assert "In its user text, line 3: more than 200,000 steps of loops and calls." in finding
