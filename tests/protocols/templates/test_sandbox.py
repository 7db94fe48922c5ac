"""A prompt is a file from anybody: its templates get plain data, and nothing in them runs anything."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import BuiltinMethodType, MethodType
from typing import Any

import pytest
from jinja2 import DictLoader, Environment, StrictUndefined, Template, TemplateError, Undefined
from jinja2.filters import _GroupTuple
from jinja2.runtime import LoopContext

from recjudge_tui.domain.base import Model
from recjudge_tui.domain.calls import Sampling
from recjudge_tui.domain.material import Material
from recjudge_tui.domain.prompt import Example, ProfileSpec, Prompt
from recjudge_tui.errors import PromptError
from recjudge_tui.protocols.lint import bare_material, lint, sample_material
from recjudge_tui.protocols.profile import profile_request
from recjudge_tui.protocols.registry import protocol
from recjudge_tui.protocols.templates.data import Record, plain, record
from recjudge_tui.protocols.templates.rendering import (
    as_data,
    as_json,
    bound,
    environment,
    event_line,
    event_lines,
    item_line,
    item_lines,
    messages,
    profile_messages,
    system_text,
    user_text,
    with_article,
)
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import get_prompt, prompt_toml
from recjudge_tui.store.schema import connect
from tests.support.cases import SHIPPED, SHOPPER, STRANGER, explained, listed, material_for, shipped
from tests.support.runs import make_project, ran

LIST = shipped("pointwise-shopping")
PLAIN = (str, int, float, bool, type(None), dict, list, tuple, Record)


def samples(name: str) -> list[Material]:
    kind = protocol(shipped(name).protocol).facts.unit
    return [sample_material(kind), bare_material(kind), material_for(name), material_for(name, STRANGER)]


@pytest.fixture
def db(project_db: Path) -> Iterator[Database]:
    with connect(project_db) as database:
        yield database


# What a template is given


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The names that reach a template, whatever renders it."""
    names: list[dict[str, Any]] = []
    render = Template.render

    def noting(template: Template, *args: Any, **kwargs: Any) -> str:
        names.append(dict(*args, **kwargs))
        return render(template, *args, **kwargs)

    monkeypatch.setattr(Template, "render", noting)
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
    for material in samples(name):
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
    kinds = {value.kind for value in values if type(value) is Record}
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


METHODS = (BuiltinMethodType, MethodType)


def check_reachable(sandbox: Any, start: list[Any], also: tuple[type, ...] = ()) -> set[type]:
    kinds = set()
    for way, value in reachable(sandbox, start):
        kinds.add(type(value))
        if isinstance(value, METHODS):
            assert isinstance(value.__self__, (str, dict, list, tuple, LoopContext)), way
            assert not value.__name__.startswith("_"), way
            assert value.__name__ not in ("format", "format_map", "encode", "update", "append", "pop"), way
        elif value not in start:
            assert type(value) in (*PLAIN, *also), way
    return kinds


@pytest.mark.parametrize("part", ["system", "user"])
def test_nothing_but_plain_data_and_harmless_methods_can_be_reached(part: str) -> None:
    sandbox = environment(part)
    records = [record(SHOPPER), plain(LIST.examples), plain(LIST.labels), plain(explained(accuracy=4.0))]
    kinds = check_reachable(sandbox, [*records, "text", 1, 1.5, True, None, {"a": {"b": [1]}}])
    assert kinds >= {Record, str, dict, tuple, BuiltinMethodType}


@pytest.mark.parametrize("part", ["system", "user"])
def test_nothing_can_be_reached_from_the_globals(part: str) -> None:
    sandbox = environment(part)
    assert set(sandbox.globals) == {"range", "dict", "namespace"}
    shared = dict(sandbox.globals)
    module = sandbox.from_string("{% macro m() %}{% endmacro %}").make_module()
    others = [*shared.values(), shared["namespace"](), shared["range"](3), module.m, {}.items(), {}.keys()]
    for value in others:
        assert [way for way, _ in reachable(sandbox, [value])] == [""], value


def test_nothing_but_its_names_can_be_reached_from_a_loop() -> None:
    loop = LoopContext([1, 2, 3], StrictUndefined)
    next(loop)
    ways = {way for way, _ in reachable(environment("user"), [loop]) if way.count(".") == 1}
    assert ways <= {
        f".{name}"
        for name in (
            "changed", "cycle", "depth", "depth0", "first", "index", "index0", "last", "length", "nextitem", "previtem",
            "revindex", "revindex0",
        )
    }  # fmt: skip
    assert check_reachable(environment("user"), [loop]) >= {bool, int, MethodType}


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
    calls += [("groupby", user["history"], ("type",)), ("batch", user["history"], (1,)), ("slice", "abc", (2,)),
              ("attr", user, ("history",)), ("map", user["history"], ("item_line",))]  # fmt: skip
    done = set()
    for name, value, args in calls:
        try:
            result = sandbox.call_filter(name, value, args, context=context)
        except (TemplateError, TypeError, ValueError, AttributeError, LookupError):
            continue
        done.add(name)
        for way, found in reachable(sandbox, [result]):
            text = isinstance(found, str) and hasattr(found, "format")
            listed_kind = isinstance(found, (*METHODS, _GroupTuple)) or type(found) in PLAIN
            assert way == "" or text or listed_kind, (name, way)
            if isinstance(found, METHODS):
                assert isinstance(found.__self__, (str, dict, list, tuple)), (name, way)
    assert len(done) > 40
    assert {"attr", "groupby", "map", "tojson", "item_line", "event_lines", "items"} <= done


# What is refused

ATTACKS = {
    "parse_raw": "user.parse_raw('x', proto='pickle', allow_pickle=true)",
    "parse_file": "user.parse_file('/etc/passwd')",
    "model_dump": "user.model_dump()",
    "model_copy": "user.model_copy(update={})",
    "copy": "user.copy()",
    "construct": "user.construct()",
    "from_orm": "user.from_orm(user)",
    "update_forward_refs": "user.update_forward_refs()",
    "model_fields": "user.model_fields",
    "class": "user.__class__",
    "class of text": "''.__class__.__mro__[1].__subclasses__()",
    "class by place": "user['__class__']",
    "class by attr": "user | attr('__class__')",
    "parse_raw by attr": "(user | attr('parse_raw'))('x')",
    "parse_raw by place": "user['parse_raw']('x')",
    "parse_raw by map": "([user] | map(attribute='parse_raw') | first)('x')",
    "class by map": "[user] | map(attribute='__class__') | list",
    "deep by map": "[user] | map(attribute='history.__class__') | list",
    "map of attr": "[user] | map('attr', '__class__') | list",
    "sort": "[user, user] | sort(attribute='__class__')",
    "groupby": "[user] | groupby('__class__')",
    "selectattr": "[user] | selectattr('__class__') | list",
    "unique": "[user] | unique(attribute='__class__') | list",
    "sum": "[user] | sum(attribute='__class__')",
    "min": "[user, user] | min(attribute='__class__')",
    "init globals": "user.history.__init__.__globals__",
    "method self": "user.attributes.items.__self__",
    "method of text": "''.join.__self__",
    "format": "'{0.__class__}'.format(user)",
    "format_map": "'{x.__class__}'.format_map({'x': user})",
    "format by attr": "('{0.__class__}' | attr('format'))(user)",
    "format of markup": "('{0.__class__}' | safe).format(user)",
    "encode": "'x'.encode('idna')",
    "translate": "'x'.translate({})",
    "center": "'x'.center(9)",
    "zfill": "'1'.zfill(9)",
    "class of a mapping": "user.attributes.__class__.__mro__",
    "update": "user.attributes.update({})",
    "pop": "user.attributes.pop('age')",
    "append": "[].append(1)",
    "range": "range.__class__",
    "range start": "range(3).start.__class__",
    "dict": "dict.fromkeys.__self__",
    "dict globals": "dict.__globals__",
    "namespace": "namespace.__init__.__globals__",
    "namespace class": "namespace(a=1).__class__",
    "namespace attrs": "namespace(a=1)._Namespace__attrs",
    "cycler": "cycler('a')",
    "cycler globals": "cycler.__init__.__globals__",
    "joiner": "joiner(', ')",
    "lipsum": "lipsum.__globals__",
    "self": "self.__init__.__globals__",
    "self context": "self._TemplateReference__context",
    "undefined": "missing.__class__",
    "undefined object": "user.nothing._undefined_obj",
    "number": "(1).real",
    "bit_length": "(1).bit_length()",
    "generator": "(user.attributes | items).gi_frame",
    "view": "user.attributes.items().mapping",
    "group": "([user] | groupby('user_id') | first)._asdict()",
    "type call": "dict.mro()",
    "list item": "user[0]",
    "function item": "range[0]",
}
STATEMENTS = {
    "loop": "{% for x in [1] %}{{ loop.__init__.__globals__ }}{% endfor %}",
    "loop iterable": "{% for x in [1] %}{{ loop._iterable }}{% endfor %}",
    "loop by attr": "{% for x in [1] %}{{ loop | attr('__class__') }}{% endfor %}",
    "macro": "{% macro m() %}{% endmacro %}{{ m.__call__.__globals__ }}",
    "macro function": "{% macro m() %}{% endmacro %}{{ m._func }}",
    "macro environment": "{% macro m() %}{% endmacro %}{{ m | attr('_environment') }}",
    "caller": "{% macro m() %}{{ caller.__class__ }}{% endmacro %}{% call m() %}{% endcall %}",
    "varargs": "{% macro m() %}{{ varargs.__class__ }}{% endmacro %}{{ m(1) }}",
    "block": "{% block b %}{{ self.b.__class__ }}{% endblock %}",
    "super": "{% block b %}{{ super.__class__ }}{% endblock %}",
    "import": "{% import 'os' as os %}",
    "include": "{% include '/etc/passwd' %}",
    "extends": "{% extends '/etc/passwd' %}",
    "set": "{% set c = user.__class__ %}",
    "with": "{% with c = user %}{{ c.__class__ }}{% endwith %}",
    "filter": "{% filter attr('__class__') %}x{% endfilter %}",
    "if": "{% if user.__class__ %}x{% endif %}",
    "do": "{% do user.pop() %}",
}
TEMPLATES = {name: f"{{{{ {attack} }}}}" for name, attack in ATTACKS.items()} | STATEMENTS


@pytest.mark.parametrize("name", TEMPLATES)
def test_an_attack_is_refused_with_its_line_in_every_text(name: str) -> None:
    template = f"First line.\n\n{TEMPLATES[name]}"
    attacks = [LIST.model_copy(update={"user": template})]
    # the system text knows no user
    named = "{% set user = examples[0] %}" if "user" in template and name != "user" else ""
    attacks.append(LIST.model_copy(update={"system": f"First line.\n\n{named}{TEMPLATES[name]}"}))
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


@pytest.mark.parametrize(("template", "message"), [
    ("{{ user.parse_raw('x') }}", "a user has no “parse_raw” for a template; a template may use user_id, attributes,"),
    ("{{ user.__class__ }}", "a template may not use “__class__” of a user, or any other name that begins with “_”"),
    ("{{ user.attributes.pop() }}", "a mapping has no “pop” for a template; a template may use its keys and get, items"),
    ("{{ ''.format() }}", "text has no “format” for a template; a template may use capitalize,"),
    ("{{ user.history.append(1) }}", "a sequence has no “append” for a template; a template may use count, index"),
    ("{{ (1).real }}", "a template may not use “real” of a number"),
    ("{{ dict.fromkeys('a') }}", "a template may not use “fromkeys” of a function or other object"),
    ("{{ 'x' | event_line }}", "event_line expects an event, not text"),
    ("{{ user | item_line }}", "item_line expects an item, not a user"),
    ("{{ user.history | item_lines }}", "item_line expects an item, not an event"),
])  # fmt: skip
def test_the_message_says_what_a_template_may_use(template: str, message: str) -> None:
    with pytest.raises(PromptError) as caught:
        user_text(LIST.model_copy(update={"user": template}), listed(), "")
    assert f"In its user text, line 1: {message}" in caught.value.cause


@pytest.mark.parametrize("template", [
    "{% for a in [1] %}" * 40 + "{% endfor %}" * 40,
    "{{ " + "(" * 400 + "1" + ")" * 400 + " }}",
    "{{ 'a' * 10 ** 15 }}",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{{ [1] | batch(0) | list | first(1, 2) }}",
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


# What stays as it was


def reference(source: str, part: str, names: dict[str, Any], parts: Mapping[str, str] | None = None) -> str:
    """The text as plain Jinja2 makes it of the records themselves: what every stored request was made of."""
    jinja = Environment(
        loader=DictLoader(parts or {}),
        undefined=StrictUndefined,
        finalize=as_data if part == "user" else None,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.filters.update(
        json=as_json,
        item_line=lambda item, *names: item_line(plain(item), *names),
        item_lines=lambda items, *names: item_lines(plain(items), *names),
        event_line=lambda event, *names, **more: event_line(plain(event), *names, **more),
        event_lines=lambda events, *names, **more: event_lines(plain(events), *names, **more),
        with_article=with_article,
    )
    return jinja.from_string(source).render(names).strip()


def of_prompt(prompt: Prompt) -> dict[str, Any]:
    fields = {name: getattr(prompt, name) for name in ("labels", "scale", "examples", "variables")}
    fields["examples"] = [
        Record({name: value for name, value in example if name != "domain"})
        for example in prompt.shown_examples()
    ]
    for example in fields["examples"]:
        example.kind = "Example"
    fields["issues"] = tuple(
        issue.model_copy(update={"meaning": prompt.worded(issue.meaning)}) for issue in prompt.issues
    )
    fields["aspects"] = tuple(
        aspect.model_copy(update={"question": prompt.worded(aspect.question)}) for aspect in prompt.aspects
    )
    return fields | {"examples": tuple(fields["examples"])}


def given_to_system(prompt: Prompt, top_k: int) -> dict[str, Any]:
    fields = of_prompt(prompt)
    return fields | {"top_k": top_k, "good_from": bound(0.7, top_k), "partial_from": bound(0.4, top_k)}


def given_to_user(prompt: Prompt, material: Material) -> dict[str, Any]:
    fields = {name: getattr(material, name) for name in ("user", "slates", "explanation", "example", "top_k")}
    length = len(material.slates[0].items) if material.slates else material.top_k
    bounds = {"good_from": bound(0.7, length), "partial_from": bound(0.4, length)}
    return of_prompt(prompt) | fields | bounds


# whole records, loops over them, tests and defaults, as people's own prompts may have them
ODD = """{{ user }} {{ user.history }} {{ slates }} {{ explanation }} {{ example }} {{ aspects }} {{ variables }}
{% for name, value in user %}{{ loop.index }}/{{ loop.length }} {{ name }}={{ value }}{{ loop.cycle(";", ",") }}{% endfor %}
{% for name, value in user.attributes.items() %}{{ name.upper() }}: {{ value }}{% endfor %} {{ user["as_of"][:10] }}
{{ user.attributes.get("age", "-") }} {{ user.attributes["age"] | default("?") }} {{ user.attributes.keys() | join }}
{{ user.attributes._id | default("no id") }} {{ user.attributes["_id"] is defined }} {{ user.shoe_size is defined }}
{{ user.shoe_size | default("none") }} {{ user.attributes.nothing is defined }}
{{ user.history | map(attribute="type") | join(",") }} {{ user.history | selectattr("value", "equalto", 4.5)
| list | length }}
{% for group in user.history | groupby("type") %}{{ group.grouper }}: {{ group.list | length }} {% endfor %}
{{ user.history | sort(attribute="timestamp") | map(attribute="timestamp") | join(" ") }} {{ range(3) | join }}
{% set box = namespace(n=0) %}{% for event in user.history %}{% set box.n = box.n + 1 %}{% endfor %}{{ box.n }}
{% macro show(event) %}{{ event.type }}{% endmacro %}{% for event in user.history %}{{ show(event) }}{% endfor %}
{{ dict(a=1) }} {{ "%s %d" | format("a", 3) }} {{ "a b".split() | join("-") }}
{{ user.browsed.index("Bath") if user.browsed }}"""
ODD_SYSTEM = """{{ labels }}{{ scale }}{{ aspects }}{{ issues }}{{ examples }}{{ variables }}
{{ labels | unique | list | length }}"""


@pytest.mark.parametrize("name", SHIPPED)
def test_prompts_render_to_the_bytes_that_the_records_themselves_give(name: str) -> None:
    prompt = shipped(name)
    for material in samples(name):
        whole = given_to_system(prompt, 10)
        assert system_text(prompt, 10) == reference(prompt.system, "system", whole, prompt.parts)
        names = given_to_user(prompt, material)
        assert user_text(prompt, material, "") == reference(prompt.user, "user", names, prompt.parts)
        if prompt.profile is not None:
            _, profile = profile_messages(prompt, material)
            assert profile.content == reference(prompt.profile.user, "user", names)


def without_images(text: str) -> str:
    """Items look to a template as they did before they could have images."""
    return text.replace(", image=None", "")


@pytest.mark.parametrize("name", SHIPPED)
def test_peoples_own_templates_render_to_the_same_bytes(name: str) -> None:
    prompt = shipped(name).model_copy(update={"user": ODD, "system": ODD_SYSTEM})
    for material in samples(name):
        names = given_to_user(prompt, material)
        assert user_text(prompt, material, "") == without_images(reference(ODD, "user", names))
    assert system_text(prompt, 10) == reference(ODD_SYSTEM, "system", given_to_system(prompt, 10))


def test_a_record_reads_as_the_model_it_was_made_from() -> None:
    for model in (SHOPPER, STRANGER, LIST.examples[0], LIST.labels[0], sample_material("pair").slates[0]):
        assert isinstance(model, Model)
        assert str(record(model)) == without_images(str(model))
        assert repr(record(model)) == without_images(repr(model))
        assert list(record(model)) == [(name, plain(value)) for name, value in model]
        assert json.loads(json.dumps(record(model))) == json.loads(
            model.model_dump_json().replace(',"image":null', "")
        )


def test_the_same_user_is_converted_once() -> None:
    assert record(SHOPPER) is record(SHOPPER)
    twin = SHOPPER.model_copy(update={"user_id": "u9"})
    assert record(twin)["user_id"] == "u9"


def test_what_is_no_plain_value_becomes_text() -> None:
    path = Path("a")
    example = Example(title="t", input={"path": path, "list": [path, {"deep": (path,)}]}, reply={})
    assert plain(example)["input"] == {"path": "a", "list": ["a", {"deep": ("a",)}]}
