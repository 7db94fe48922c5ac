"""Replies composed of parts, each of which says what it takes for granted: so it is known what a careful person may read.

Unlike `mutated_replies`, nothing is guessed from the text: a reply carries the labels that it may be read as. To refuse
a reply is always right; to read another label never is.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.support.mutated_replies import Question

# said after an answer, by somebody who takes it back; {other} is another label
RETRACTIONS = (
    # English
    "No wait, {other}.", "Hmm, that was wrong.", "I retract this.", "Actually, {other}.", "EDIT: {other}",
    "Ignore the above.", "My answer above is incorrect.", "Let me correct myself: {other}", "Make that {other}.",
    # German
    "Nein, das ist falsch.", "Moment, das stimmt nicht.", "Korrektur: {other}", "Entschuldigung, ich meinte {other}.",
    "Ich habe mich geirrt.", "Das war ein Fehler.", "Doch eher {other}.",
    # French
    "Non, c'est faux.", "Attendez, je me suis trompé.", "Correction : {other}", "En fait, {other}.",
    "Désolé, c'est une erreur.",
    "Je retire cette réponse.",
    # Spanish
    "No, eso es incorrecto.", "Espera, me equivoqué.", "Corrección: {other}", "En realidad, {other}.",
    "Perdón, fue un error.",
    # Portuguese
    "Não, isso está errado.", "Espere, eu me enganei.", "Na verdade, {other}.", "Desculpe, foi um erro.",
    # Italian
    "No, è sbagliato.", "Aspetta, mi sono sbagliato.", "In realtà, {other}.", "Scusate, era un errore.",
    # Dutch
    "Nee, dat is fout.", "Wacht, ik heb me vergist.", "Eigenlijk {other}.",
    # Scandinavian
    "Nej, det är fel.", "Vänta, jag hade fel.", "Nei, det var feil.", "Undskyld, det var en fejl.", "Faktisk {other}.",
    # Polish, Czech
    "Nie, to błąd.", "Przepraszam, pomyliłem się.", "Ne, to je špatně.", "Omlouvám se, spletl jsem se.",
    # Russian, Ukrainian
    "Нет, это неверно.", "Подождите, я ошибся.", "На самом деле {other}.", "Ні, це помилка.",
    # Greek, Turkish, Finnish, Hungarian, Romanian
    "Όχι, αυτό είναι λάθος.", "Hayır, bu yanlış.", "Özür dilerim, hata yaptım.", "Ei, se on väärin.", "Nem, ez téves.",
    "Nu, este greșit.",
    # Arabic, Hebrew, Hindi, Persian
    "لا، هذا خطأ.", "عذرا، الصحيح {other}", "לא, זו טעות.", "नहीं, यह गलत है।", "نه، اشتباه بود.",
    # Chinese, Japanese, Korean
    "等等，这是错的。", "不对，应该是{other}。", "更正：{other}", "抱歉，我弄错了。",
    "すみません、間違えました。", "いや、違います。",
    "訂正：{other}", "아니요, 틀렸습니다.", "죄송합니다, 잘못 말했습니다.",
    # Vietnamese, Indonesian, Thai
    "Không, sai rồi.", "Xin lỗi, tôi nhầm.", "Tidak, itu salah.", "Maaf, saya keliru.", "ขอโทษ นั่นผิด",
)  # fmt: skip
# said after an answer by somebody who keeps it
KEPT = (
    "", "I hope this helps!", "Let me know if you need more detail.", "(end of verdict)", "---", "Ich hoffe, das hilft.",
    "以上です。", "J'espère que cela aide.",
)  # fmt: skip
_FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
# what states no label
_NO_ANSWER = ("thought only", "question", "choices", "markup twice")
_QUOTES = ("“”", "„“", "«»", "＂＂", "″″", "‘’", "``")


class ComposedReply(NamedTuple):
    """A reply, the labels that a careful person may read in it, and the names of its parts."""

    text: str
    allowed: frozenset[str]
    kind: str


class Part(NamedTuple):
    """A text and the labels that it leaves to the reply; None: it says nothing of them."""

    text: str
    allowed: frozenset[str] | None


def composed(question: Question, count: int, seed: int) -> Iterator[ComposedReply]:
    draw = random.Random(seed)
    places = [list(kinds.items()) for kinds in (OPENINGS, ANSWERS, ENDINGS)]
    for _ in range(count):
        label = draw.choice(question.labels)
        other = draw.choice([each for each in question.labels if each != label])
        names, parts = [], []
        for kinds in places:
            name, make = draw.choice(kinds)
            names.append(name)
            parts.append(make(question.field, label, other, draw))
        # the second answer is then the first
        if names[1] in _NO_ANSWER and names[2] == "second answer":
            parts = [*(Part(part.text, None) for part in parts[:2]), Part(parts[2].text, _says(other))]
        allowed = frozenset.intersection(*(part.allowed for part in parts if part.allowed is not None))
        between = draw.choice(("\n", "\n\n", " "))
        yield ComposedReply(
            between.join(part.text for part in parts if part.text), allowed, " | ".join(names)
        )


Make = Callable[[str, str, str, random.Random], Part]


def _says(label: str) -> frozenset[str]:
    return frozenset((label,))


NOTHING: frozenset[str] = frozenset()


def _body(field: str, label: str, draw: random.Random, **more: object) -> str:
    pairs = [
        ("reasoning", draw.choice(("Fits.", "One {of} them: odd.", "Er sagt „nein“."))),
        (field, label),
        *more.items(),
    ]
    draw.shuffle(pairs)
    return json.dumps(dict(pairs), ensure_ascii=draw.random() < 0.5, indent=draw.choice((None, None, 1)))


def _json(field: str, label: str, other: str, draw: random.Random) -> Part:
    return Part(_body(field, label, draw), _says(label))


def _fenced(field: str, label: str, other: str, draw: random.Random) -> Part:
    mark, language = (
        draw.choice(("```", "~~~", "````")),
        draw.choice(("json", "JSON", "", "json5", "javascript", "text")),
    )
    return Part(f"{mark}{language}\n{_body(field, label, draw)}\n{mark}", _says(label))


def _two_fences(field: str, label: str, other: str, draw: random.Random) -> Part:
    first, second = _body(field, label, draw), _body(field, other, draw)
    return Part(f"```json\n{first}\n```\n```json\n{second}\n```", NOTHING)


def _other_case(field: str, label: str, other: str, draw: random.Random) -> Part:
    spelled = draw.choice((label.upper(), label.lower(), label.title(), label.swapcase()))
    name = draw.choice((field.upper(), field.title(), field.swapcase()))
    return Part(json.dumps({name: spelled}), _says(label))


def _case_twice(field: str, label: str, other: str, draw: random.Random) -> Part:
    return Part(json.dumps({field: label, draw.choice((field.upper(), field.title())): other}), NOTHING)


def _nested(field: str, label: str, other: str, draw: random.Random) -> Part:
    """The keys only within another object: not at the top level."""
    outer = draw.choice(("answer", "result", "verdict", "draft", "example", "not_my_answer"))
    return Part(json.dumps({outer: {field: label}, "reasoning": "x"}), NOTHING)


def _nested_beside(field: str, label: str, other: str, draw: random.Random) -> Part:
    inner = draw.choice(({field: other}, [{field: other}], {"deep": [{"er": {field: other}}]}))
    pairs = [("draft", inner), (field, label)]
    draw.shuffle(pairs)
    return Part(json.dumps(dict(pairs)), _says(label))


def _list_of_objects(field: str, label: str, other: str, draw: random.Random) -> Part:
    values = draw.choice(([label, other], [other, label], [label, label, other]))
    return Part(json.dumps([{"item": n, field: value} for n, value in enumerate(values)]), NOTHING)


def _list_value(field: str, label: str, other: str, draw: random.Random) -> Part:
    value = draw.choice(([label, other], [label], {"label": label}, {label: True}, [[label]], True, None, ""))
    return Part(json.dumps({"reasoning": "x", field: value}), _says(label) if value == [label] else NOTHING)


def _lines_of_json(field: str, label: str, other: str, draw: random.Random) -> Part:
    first, second = draw.sample((label, other), 2)
    return Part(f"{json.dumps({field: first})}\n{json.dumps({field: second})}", NOTHING)


def _json5(field: str, label: str, other: str, draw: random.Random) -> Part:
    forms = (
        f"{{{field}: '{label}'}}", f"{{'{field}': '{label}'}}", f"{{{field}: \"{label}\"}}",
        f'{{"{field}": "{label}", /* not {other} */}}', f'{{\n  // {field}: {other}\n  "{field}": "{label}"\n}}',
        f'{{"{field}": "{label}" + ""}}',
    )  # fmt: skip
    return Part(draw.choice(forms), _says(label))


def _commented(field: str, label: str, other: str, draw: random.Random) -> Part:
    """The other answer is commented out, or this one is."""
    forms = (
        f'/* {{"{field}": "{label}"}} */ {{"{field}": "{other}"}}', f'// {{"{field}": "{label}"}}\n{{"{field}": "{other}"}}',
        f'<!-- {{"{field}": "{label}"}} -->\n{{"{field}": "{other}"}}', f'# {field}: {label}\n{field}: {other}',
    )  # fmt: skip
    return Part(draw.choice(forms), _says(other))


def _yaml(field: str, label: str, other: str, draw: random.Random) -> Part:
    forms = (
        f"---\nreasoning: fits\n{field}: {label}\n...", f"reasoning: |\n  It fits.\n{field}: '{label}'",
        f"{field}: {label}  # sure", f"- {field}: {label}", f"? {field}\n: {label}", f"{field}: &a {label}",
        f"{field}: !!str {label}",
    )  # fmt: skip
    return Part(draw.choice(forms), _says(label))


def _yaml_twice(field: str, label: str, other: str, draw: random.Random) -> Part:
    forms = (
        f"{field}: {label}\n{field}: {other}", f"- {field}: {label}\n- {field}: {other}",
        f"draft:\n  {field}: {label}\nfinal:\n  {field}: {other}", f"{field}: {label} # was {other}\n{field}: {other}",
    )  # fmt: skip
    return Part(draw.choice(forms), NOTHING)


def _choices(field: str, label: str, other: str, draw: random.Random) -> Part:
    """Two labels to choose from."""
    forms = (
        f"{field}:\n  - {label}\n  - {other}",
        f"{field}: [{label}, {other}]",
        f"{field}: {label} | {other}",
    )
    return Part(draw.choice(forms), NOTHING)


def _markup(field: str, label: str, other: str, draw: random.Random) -> Part:
    forms = (
        f"<{field}>{label}</{field}>", f"| {field} | {label} |\n|---|---|", f"[{field}]\n{field} = \"{label}\"",
        f"{field}={label}", f"**{field}**: _{label}_", f"## {field}: {label}", f"\\boxed{{{label}}}",
        f"{field} → {label}", f"{field};{label}", f'return {{"{field}": "{label}"}}',
    )  # fmt: skip
    return Part(draw.choice(forms), _says(label))


def _markup_twice(field: str, label: str, other: str, draw: random.Random) -> Part:
    forms = (
        f"~~{field}: {label}~~\n{field}: {other}", f"- {field}: {label}\n+ {field}: {other}",
        f"<{field}>{label}</{field}><{field}>{other}</{field}>", f"| {field} | {label} |\n| {field} | {other} |",
        f"{field}: {label} / {other}", f"{field}: {label} or {other}", f"{field}: {label}, or rather {other}",
        f"{field}: not {label}", f"{field}: {label} -> {other}", f"{field}: {label}?\n{field}: {other}!",
    )  # fmt: skip
    chosen = draw.choice(forms)
    # 4 / 5 is a score of 4, if 5 is the highest
    return Part(chosen, _says(label) if other == "5" and chosen.endswith(f": {label} / 5") else NOTHING)


def _look_alike(field: str, label: str, other: str, draw: random.Random) -> Part:
    """Quotes, letters or braces that only look like those of JSON."""
    left, right = draw.choice(_QUOTES)
    text = json.dumps({"reasoning": "x", field: label})
    forms = (
        text.replace('"', left, 1).replace('"', right, 1), "".join(left if mark == '"' else mark for mark in text),
        text.translate(_FULL_WIDTH), text.replace(":", "："), text.replace("{", "｛").replace("}", "｝"),
        text.replace(label, label.translate(_FULL_WIDTH)),
        text.replace(label, label.replace("o", "о").replace("e", "е")),
        text.replace(field, field.replace("a", "а")), text.replace(label, f"\u200b{label}\u2060"),
        text.replace(" ", "\u00a0"),
    )  # fmt: skip
    return Part(draw.choice(forms), _says(label))


def _look_alike_inside(field: str, label: str, other: str, draw: random.Random) -> Part:
    left, right = draw.choice(_QUOTES)
    quoted = f"{{{left}{field}{right}: {left}{other}{right}}}"
    return Part(json.dumps({"reasoning": quoted, field: label}, ensure_ascii=False), _says(label))


def _escaped_inside(field: str, label: str, other: str, draw: random.Random) -> Part:
    """The other answer as text in the reasoning, escaped as it should be, or not escaped at all."""
    answer = json.dumps({field: other})
    for _ in range(draw.randrange(3)):
        answer = json.dumps({"reasoning": answer})
    good = json.dumps({"reasoning": answer, field: label})
    bare = f'{{"reasoning": "{json.dumps({field: other})}", "{field}": "{label}"}}'
    return Part(*draw.choice(((good, _says(label)), (bare, NOTHING))))


def _code_inside(field: str, label: str, other: str, draw: random.Random) -> Part:
    code = draw.choice(
        (f'```python\nprint({{"{field}": "{other}"}})\n```', f"`{field}: {other}`", f"$ echo {field}={other}")
    )
    return Part(json.dumps({"reasoning": code, field: label}), _says(label))


def _thought_only(field: str, label: str, other: str, draw: random.Random) -> Part:
    answer = _body(field, label, draw)
    return Part(
        draw.choice((f"<think>{answer}</think>", f"<think>\n{answer}", f"<thinking>{answer}</thinking>")),
        NOTHING,
    )


def _unfinished(field: str, label: str, other: str, draw: random.Random) -> Part:
    text = json.dumps({field: label, "reasoning": f"I first wanted {other}, but"})
    return Part(text[: draw.randrange(len(text) - 12, len(text) - 1)], NOTHING)


def _question(field: str, label: str, other: str, draw: random.Random) -> Part:
    forms = (
        f"{field}: {label}?", f"Is the {field} {label} or {other}?", f"Should I answer {json.dumps({field: label})}?",
        f"If the list were longer: {json.dumps({field: label})}", f"I will not answer {json.dumps({field: label})}.",
        f"The user wants me to print {json.dumps({field: label})}, which I refuse.",
        f"For example, {json.dumps({field: label})} would be wrong here.",
    )  # fmt: skip
    return Part(draw.choice(forms), NOTHING)


def _thought(field: str, label: str, other: str, draw: random.Random) -> Part:
    inner = draw.choice(("Hmm.", json.dumps({field: other}), f"{field}: {other}", "```json\n{", "{"))
    tag = draw.choice(("think", "thinking"))
    return Part(f"<{tag}>{inner}</{tag}>", None)


def _thought_twice(field: str, label: str, other: str, draw: random.Random) -> Part:
    inner = json.dumps({field: other})
    return Part(f"<think>a</think><think>{inner}</think>", None)


def _opened(field: str, label: str, other: str, draw: random.Random) -> Part:
    return Part(
        draw.choice(
            (
                "",
                "",
                "Here is my verdict:",
                "Sure!",
                "Mein Urteil:",
                "判定：",
                "{}",
                "[]",
                "# Verdict",
                "BEGIN",
            )
        ),
        None,
    )


def _code_before(field: str, label: str, other: str, draw: random.Random) -> Part:
    """Code or a quotation that states the other answer: nobody can say which one counts."""
    forms = (
        f'```python\nanswer = {{"{field}": "{other}"}}\n```', f"```\n{field}: {other}\n```", f"> {field}: {other}",
        f"`{field}: {other}`", f'The schema is {{"{field}": "{other}"}}.', f"{field}: {other}",
        f"My first {field}: {other}",
    )  # fmt: skip
    return Part(draw.choice(forms), NOTHING)


def _nothing(field: str, label: str, other: str, draw: random.Random) -> Part:
    return Part(draw.choice(KEPT), None)


def _retracted(field: str, label: str, other: str, draw: random.Random) -> Part:
    return Part(draw.choice(RETRACTIONS).format(other=other), NOTHING)


def _second_answer(field: str, label: str, other: str, draw: random.Random) -> Part:
    forms = (
        json.dumps({field: other}), f"```json\n{json.dumps({field: other})}\n```", f"{field}: {other}",
        f"{field.upper()} = {other}",
        f"{json.dumps({field: other})}", f"{field}: {label}\n{field}: {other}", f"Final answer: {other}",
        f"“{field}”: “{other}”", f"{{'{field}': '{other}'}}", f"{field} - {other}",
    )  # fmt: skip
    return Part(draw.choice(forms), NOTHING)


OPENINGS: dict[str, Make] = {
    "opened": _opened,
    "thought": _thought,
    "thought twice": _thought_twice,
    "code before": _code_before,
}
ANSWERS: dict[str, Make] = {
    "json": _json,
    "fenced": _fenced,
    "two fences": _two_fences,
    "other case": _other_case,
    "case twice": _case_twice,
    "nested": _nested,
    "nested beside": _nested_beside,
    "list of objects": _list_of_objects,
    "list value": _list_value,
    "lines of json": _lines_of_json,
    "json5": _json5,
    "commented": _commented,
    "yaml": _yaml,
    "yaml twice": _yaml_twice,
    "choices": _choices,
    "markup": _markup,
    "markup twice": _markup_twice,
    "look alike": _look_alike,
    "look alike inside": _look_alike_inside,
    "escaped inside": _escaped_inside,
    "code inside": _code_inside,
    "thought only": _thought_only,
    "unfinished": _unfinished,
    "question": _question,
}
ENDINGS: dict[str, Make] = {"kept": _nothing, "retracted": _retracted, "second answer": _second_answer}
