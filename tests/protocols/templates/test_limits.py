"""Templates that would take hours or fill the memory: refused quickly, with their line, in lint as in a run."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from recjudge_tui.errors import PromptError
from recjudge_tui.protocols.lint import lint
from recjudge_tui.protocols.templates import limits as template_limits
from recjudge_tui.protocols.templates.rendering import user_text
from tests.support.cases import listed, shipped

LIST = shipped("pointwise-shopping")
DOUBLED = "{% set ns = namespace(x='ab') %}{% for i in range(60) %}"
NESTED = "{% set ns = namespace(x=['ab'], y=['ab']) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}"
ATTACKS = {
    "a huge range": "{% for i in range(10**9) %}x{% endfor %}",
    "loops in loops": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "a long text in a loop": "{% for i in range(99999) %}" + "word " * 2000 + "{% endfor %}",
    "the same in a block": "{% set x %}{% for i in range(99999) %}"
    + "word " * 2000
    + "{% endfor %}{% endset %}",
    "a filter in a loop": "{% for i in range(99999) %}{{ range(9999) | sum }}{% endfor %}",
    "a text many times": "{{ ('a' * 10 ** 9) | length }}",
    "many times a text": "{{ (10 ** 9 * 'a') | length }}",
    "a list many times": "{{ ([1] * 10 ** 8) | length }}",
    "a tower": "{{ (9 ** (9 ** 9)) > 1 }}",
    "a product": "{% set ns = namespace(x=7) %}{% for i in range(40) %}{% set ns.x = ns.x * ns.x %}{% endfor %}",
    "a doubled text": DOUBLED + "{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
    "a doubled sum": DOUBLED + "{% set ns.x = ns.x + ns.x %}{% endfor %}",
    "a doubled block": DOUBLED + "{% set ns.x %}{{ ns.x }}{{ ns.x }}{% endset %}{% endfor %}",
    "a doubled join": DOUBLED + "{% set ns.x = [ns.x, ns.x] | join %}{% endfor %}",
    "a doubled method": DOUBLED + "{% set ns.x = ns.x.join([ns.x, ns.x]) %}{% endfor %}",
    "a doubled list": DOUBLED.replace("'ab'", "[1]") + "{% set ns.x = ns.x + ns.x %}{% endfor %}",
    "a replaced text": DOUBLED + "{% set ns.x = ns.x.replace('a', ns.x) %}{% endfor %}",
    "a filter that replaces": DOUBLED + "{% set ns.x = ns.x | replace('a', ns.x) %}{% endfor %}",
    "a wide field": "{{ '%1000000000d' % 1 }}",
    "a field of any width": "{{ '%*d' % (1000000000, 1) }}",
    "a wide format": "{{ '%1000000000d' | format(1) }}",
    "a centred text": "{{ 'a' | center(10 ** 9) }}",
    "an indented text": "{{ 'a' | indent(10 ** 9) }}",
    "indented JSON": "{{ [1] | tojson(10 ** 9) }}",
    "batches": "{{ [1] | batch(10 ** 9, 'x') | list | length }}",
    "slices": "{{ [1] | slice(10 ** 9) | list | length }}",
    "a rounded number": "{{ 1.5 | round(10 ** 9, 'ceil') }}",
    "a macro that doubles": "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "a macro in a loop": "{% macro m() %}"
    + "word " * 2000
    + "{% endmacro %}{% for i in range(99999) %}{% set x = m() %}{% endfor %}",
    "a list that stands in itself twice": NESTED + "{% endfor %}{{ ns.x }}",
    "two such lists compared": NESTED + "{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.x == ns.y }}",
    "a tuple of that kind": "{% set ns = namespace(x=(1,)) %}{% for i in range(60) %}{% set ns.x = (ns.x, ns.x) %}"
    "{% endfor %}{{ [ns.x] | unique | list }}",
    "such a list handed on": "{% macro m(x, n) %}{% if n %}{{ m([x, x], n - 1) }}{% endif %}{% endmacro %}{{ m([1], 60) }}",
    "such a list in a part of its own": "{% for x in [1] recursive %}{{ loop([[x, x], [x, x]] * 2) }}{% endfor %}",
    "lists of lists many times": "{{ [[[1] * 999] * 999] * 999 }}",
    "a long text many times in a list": "{{ [['b' * 4000000]] * 9999 }}",
    "many lines indented": "{{ ('a\\n' * 2000000) | indent(9999) }}",
    "wide texts kept": "{{ range(99999) | map('string') | map('center', 9999) | list | length }}",
    "wide texts joined": "{{ ','.join(range(99999) | map('string') | map('center', 9999)) | length }}",
    "many wide fields": "{{ ('%9999s' * 9999) % ((1,) * 9999) }}",
    "many wide named fields": "{{ ('%(a)9999s' * 500000) % {'a': 1} }}",
    "a long text in many fields": "{{ ('%(a)s' * 500000) % {'a': 'b' * 4000000} }}",
    "a long text formatted into many": "{{ ('%(a)s' * 500000) | format(a='b' * 4000000) }}",
    "a loop that counts backwards": "{% for i in range(2000) %}{{ [1] | _counted(-10 ** 12) | list | length }}"
    "{{ 'a' * 4000000 }}{% endfor %}",
    "many long texts kept": "{% set ns = namespace(x=[]) %}{% for i in range(99) %}"
    "{% set ns.x = ns.x + [('a' * 4000000) | upper] %}{% endfor %}",
    "many slices kept": "{% set t = 'a' * 4000000 %}{% set ns = namespace(x=[]) %}{% for i in range(99) %}"
    "{% set ns.x = ns.x + [t[1:]] %}{% endfor %}",
    "a text in characters": "{{ ('aé' * 2000000) | list | length }}",
    "a text escaped again and again": "{% set ns = namespace(x='&' * 99999) %}{% for i in range(99) %}"
    "{% set ns.x = ns.x | string | forceescape | urlencode %}{% endfor %}",
    "a long word in lines": "{{ ('a' * 4900000) | wordwrap(1) | length }}",
    "lists added up": "{{ ([[1]] * 99999) | sum(start=[]) | length }}",
    "a batch filled with lists": "{{ [1] | batch(9999, [1] * 9999) | list | string | length }}",
    "a number that Python does not write": "{{ 'inf' | float | int }}",
    "lipsum": "{{ lipsum(n=10 ** 6) }}",
    "cycler": "{{ cycler('a').next() }}",
    "joiner": "{{ joiner(',')() }}",
}


@pytest.fixture(autouse=True)
def _small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_limits, "SECONDS", 0.2)
    monkeypatch.setattr(template_limits, "LONGEST_TEXT", 100_000)
    monkeypatch.setattr(template_limits, "MOST_MADE", 1_000_000)


@pytest.mark.parametrize("name", ATTACKS)
def test_templates_that_never_end_or_fill_the_memory_are_refused_with_their_line(name: str) -> None:
    prompt = LIST.model_copy(update={"user": "first line\n" + ATTACKS[name]})
    started = time.process_time()
    tracemalloc.start()
    with pytest.raises(PromptError) as caught:
        user_text(prompt, listed(), "")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "In its user text, line 2: " in caught.value.cause
    assert time.process_time() - started < 8
    assert most < 4_000_000


def test_a_text_of_very_many_tags_is_refused_before_it_is_compiled() -> None:
    macros = "".join(f"{{% macro m{n}(a=1) %}}{{% endmacro %}}" for n in range(9999))
    with pytest.raises(PromptError, match="more than 5,000 tags"):
        user_text(LIST.model_copy(update={"user": macros}), listed(), "")


def test_parts_that_include_each_other_end() -> None:
    # a hundred million million times
    parts = {str(n): f'{{% include "{n + 1}" %}}{{% include "{n + 1}" %}}' for n in range(40)}
    prompt = LIST.model_copy(update={"user": '{% include "0" %}', "parts": {**parts, "40": "x"}})
    with pytest.raises(PromptError, match="more than"):
        user_text(prompt, listed(), "")


def test_lint_names_the_line_and_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    # a busy machine may need so long for these steps that the other limit would be met first
    monkeypatch.setattr(template_limits, "SECONDS", 60.0)
    template = (
        "{{ user.user_id }}\n{% for i in range(3000) %}\n{% for j in range(90) %}{% endfor %}{% endfor %}"
    )
    (finding,) = lint(LIST.model_copy(update={"user": template}))
    assert "In its user text, line 3: more than 200,000 steps of loops and calls." in finding


def test_ordinary_templates_have_room() -> None:
    template = (
        "{% for i in range(100) %}{% for j in range(50) %}{{ loop.index }}{% if loop.last %}.{% endif %}{% endfor %}"
        "{% endfor %}{{ 'a' ~ 1 ~ ('b' * 1000) }}{{ 2 ** 64 }}{{ '%5.2f' % 1.5 }}{{ [3, 1] | sort | join(', ') }}"
    )
    text = user_text(LIST.model_copy(update={"user": template}), listed(), "")
    assert text.startswith("1234567891011")
    assert text.endswith("a1" + "b" * 1000 + "18446744073709551616 1.501, 3")
