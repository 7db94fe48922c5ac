"""Finds texts in the data that try to instruct the judge. Heuristics: they find known patterns and miss others. Prompts
keep such texts inside their frames anyway; the findings show people which cases to check. docs/hostile-text.md lists the
patterns."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Literal, NamedTuple

from recjudge_tui.domain.text import one_line

Kind = Literal["order", "frame", "template", "hidden", "long"]
KINDS: dict[Kind, str] = {
    "order": "order to the judge",
    "frame": "closes a frame",
    "template": "template syntax",
    "hidden": "hidden characters",
    "long": "very long",
}
FRAMES = frozenset({
    "customer", "list", "set", "user", "item", "items", "history", "explanation", "example", "examples", "data",
    "guidelines", "instruction", "instructions", "output", "prompt", "context", "system", "assistant", "human",
})  # fmt: skip
LONG_LINE = 500
LONG_TEXT = 5_000
EXCERPT = 80

# English words for verdicts
_VERDICTS = r"""(?:good|partial|poor)[ _]match|set[ _][12ab]\b|[ab][ ]wins\b|as[ ](?:the[ ])?winner\b|
  (?:5|five)[ ]?(?:/|out[ ]of|of)[ ]?(?:5|five)\b|
  (?:10|ten)[ ]?(?:/|out[ ]of|of)[ ]?(?:10|ten)\b|(?:5|five)[ -]stars?\b|all[ ](?:5s|fives)\b|
  full[ ](?:marks|score)|(?:highest|maximum|max|perfect|top)[ ](?:possible[ ])?(?:score|rating|mark|grade)s?\b|
  (?:5|five|10|ten)[ ](?:for|on|in)[ ](?:all|every|each)[ ](?:aspect|question|criteri)"""
# a command begins a sentence or follows a word such as “please”: “users rate it five stars” is not a command
_COMMANDS = r"""(?:
  (?:(?:^|[.!?:;,)\]"'“”—–-])[ ]?|\b(?:and|then|please|always|must|should|only|just|to)[ ])
    (?:answer|reply|respond|output|choose|select|label|judge|classify|return|declare|prefer)\b|
  (?:(?:^|[.!?:;])[ ]?|\b(?:please|always|must|should)[ ])
    (?:(?:rate|give|rank|assign|award|say|pick|write|vote|favou?r)\b|
      (?:score|mark|grade|call)[ ](?:it|this|them|all|both)\b))"""
_TOLD = r"(?:instruction|prompt|guideline|directive|command)s?\b"
_TOLD_BEFORE = (
    r"(?:instruction|prompt|guideline|directive|command|direction|order|rule|message|criteri|polic)\w*"
)
_JUDGES = r"(?:judge|evaluator|grader|rater|annotator|language[ ]model|llm|ai|assistant|chat-?gpt|gpt|claude|gemini)s?\b"

# parts of words, one of which every match contains (a fast first check) -> the pattern
_ORDERS: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("ignor", "disregard", "forget", "overrid", "bypass", "follow"),
        rf"""\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|ing)|bypass|(?:do[ ]not|don['’]?t)[ ]follow)[ ]
          (?:\w+[ ]){{0,4}}?
          (?:(?:previous|prior|above|earlier|preceding|foregoing|system)[ ](?:\w+[ ]){{0,3}}?{_TOLD_BEFORE}|{_TOLD}|
            (?:everything|anything|all)[ ](?:(?:that[ ](?:is|stands|was|comes|came)[ ])?(?:above|before[ ]this)|
              (?:that[ ])?(?:you[ ])?(?:were|was|have[ ]been)[ ](?:told|said|instructed))|
            what(?:ever)?[ ]you[ ](?:were|have[ ]been|are)[ ](?:told|instructed|asked))""",
    ),
    (
        ("match", "set", " wins", "winner", "5", "five", "10", "ten", "full", "score", "rating", "mark", "grade"),
        rf"{_COMMANDS}(?:\W+\w+){{0,6}}?\W+(?:{_VERDICTS})",
    ),
    (
        (" tie",),
        r"""(?:^|[.!?:;,]|\b(?:and|then|please|always|must|should)\b)[ ]?(?:answer|reply|respond|output|return|declare)\b
          (?:[ ]\w+){0,3}?[ ](?:a[ ])?tie\b""",
    ),
    (
        ("you are", "from now on", "pretend", "act as"),
        rf"""\byou[ ]are[ ](?:now|no[ ]longer)[ ](?:\w+[ ]){{0,3}}?(?:{_JUDGES}|dan\b|bound|required|restricted)|
          \byou[ ]are[ ](?:required|instructed|obliged|ordered)[ ]to\b|
          \bfrom[ ]now[ ]on,?[ ](?:always[ ]|only[ ])?(?:answer|rate|choose|reply|respond|you[ ](?:must|will|should|are))\b|
          \bpretend[ ](?:that[ ])?(?:you[ ]are|to[ ]be)[ ](?:an?[ ]|the[ ])?(?:\w+[ ])?{_JUDGES}|
          \bact[ ]as[ ](?:an?[ ]|the[ ])?(?:\w+[ ])?{_JUDGES}""",
    ),
    (
        ("attention", "dear", "hey", "hello", "to ", "for ", "as a"),
        rf"""\b(?:(?:attention|dear|hey|hello),?|(?:note|messages?|instructions?)[ ](?:to|for))[ ]
            (?:the[ ]|any[ ]|all[ ]|an?[ ])?(?:\w+[ ])?(?:{_JUDGES}|model\b)
            [ ]?(?=[:,.!;(]|$|you\b|must\b|should\b|please\b)|
          \bas[ ]an?[ ](?:ai|llm|(?:\w+[ ])?language[ ]model)\b""",
    ),
    (
        ("prompt", "system", "developer", "instruction", "guideline", "directive", "task"),
        rf"""\bsystem[ ]?(?:prompt|message|override)\b|\bdeveloper[ ]mode\b|
          \b(?:new|real|actual|updated|admin)[ ](?:{_TOLD}|tasks?)[ ]?:|
          \b(?:reveal|print|repeat|show)[ ](?:me[ ])?(?:your[ ](?:prompt|instructions)|
            (?:your|the)[ ](?:system|hidden|initial)[ ]prompt)\b""",
    ),
    (
        ("category", "reasoning", "winner", "flagged", "verdict", "score", "summary"),
        r"""["'](?:category|reasoning|winner|flagged_items|verdict|scores?)["'][ ]?:|
          \bcategory[ ]?:[ ]?(?:good|partial|poor)[ ]match|\boverall[ ]winner[ ]?:|
          \bsummary[ ]?:[ ]?[1-5](?:[ ,]+[1-5]){2,}""",
    ),
    (
        ("ignorier", "vergiss", "vergesst", "vergessen sie", "missachte", "beachte", "du bist", "antwort", "bewerte",
         "wähle", "urteile"),
        r"""\b(?:ignorier\w*|vergiss|vergesst|vergessen[ ]sie|missachte\w*|beachten?[ ](?:sie[ ])?nicht)[ ]
            (?:[\w,]+[ ]){0,5}?(?:anweisung|instruktion|vorgabe|befehl|prompt|richtlinie|bisherigen[ ]regel)\w*|
          \bdu[ ]bist[ ](?:jetzt|nun|ab[ ](?:jetzt|sofort))[ ](?:eine?|mein|kein|nicht)\b|
          (?:^|[.!?:;,]|\bund|\bbitte|\bimmer)[ ]?(?:antworte\w*|bewerte\w*|wähle\w*|urteile\w*)\b(?:\W+\w+){0,5}?\W+
            (?:good[ ]match|gute?r?[ ]treffer|(?:5|fünf|10|zehn)[ ](?:von[ ](?:5|fünf|10|zehn)|sterne?n?)|
              höchst\w*|bestnote|als[ ]beste\w*|volle[rn]?[ ]punktzahl)""",
    ),
    (
        ("ignor", "oubli", "compte", "tu es", "vous êtes", "répond", "note", "donne", "choisi"),
        r"""\b(?:ignore[rz]?|oublie[rz]?|ne[ ](?:tiens|tenez)[ ](?:pas|aucun)[ ]compte)[ ](?:[\w'’]+[ ]){0,5}?(?:[dl]['’])?
            (?:instruction|consigne|directive|prompt|règles[ ]précéd)\w*|
          \b(?:tu[ ]es|vous[ ]êtes)[ ](?:maintenant|désormais)[ ]une?\b|
          (?:^|[.!?:;,]|\bet)[ ]?(?:réponds|répondez|notez?|donnez?|choisis|choisissez)\b(?:\W+\w+){0,5}?\W+(?:good[ ]match|
            (?:la[ ])?meilleure[ ]note|note[ ]maximale|(?:5|cinq|10|dix)[ ](?:sur[ ](?:5|cinq|10|dix)|étoiles))""",
    ),
    (
        ("ignor", "olvid", "caso", "eres", "respond", "contest", "califica", "puntúa", "elige", "valora"),
        r"""\b(?:ignor[ae]n?|olvid[ae]n?|ha[zg]a?[ ]caso[ ]omiso|no[ ]hagas?[ ]caso)[ ](?:\w+[ ]){0,5}?
            (?:instrucci|indicaciones|directri|prompt|reglas[ ]anteriores|órdenes[ ]anteriores)\w*|
          \b(?:ahora[ ]eres|a[ ]partir[ ]de[ ]ahora[ ]eres|eres[ ]ahora)[ ]un|
          (?:^|[.!?:;,¡]|\by)[ ]?(?:responde|contesta|califica|puntúa|elige|valora)\b(?:\W+\w+){0,5}?\W+(?:good[ ]match|
            (?:puntuación|nota|calificación)[ ]máxima|(?:la[ ])?(?:máxima|mejor)[ ](?:puntuación|nota|calificación)|
            (?:5|cinco|10|diez)[ ](?:de[ ](?:5|cinco|10|diez)|estrellas))""",
    ),
    (
        ("忽略", "忽视", "忽視", "无视", "無視", "忘记", "忘記", "不要理会", "你现在是", "你現在是", "从现在", "從現在",
         "系统提示", "系統提示", "请", "請", "必须", "必須", "一定要", "直接"),
        r"""(?:忽略|忽视|忽視|无视|無視|忘记|忘記|不要理会).{0,12}(?:指令|指示|提示|要求|规则|規則|命令|说明|說明)|
          你[现現]在是一|[从從][现現]在[起开開]始?.{0,6}(?:你|必须|必須|回答)|系[统統]提示|
          (?:请|請|必须|必須|一定要|直接)(?:回答|评为|評為|选择|選擇|给出|打).{0,10}(?:最高分|满分|滿分|五分|5分|good.match)""",
    ),
)  # fmt: skip
_COMPILED = tuple((words, re.compile(pattern, re.VERBOSE | re.IGNORECASE)) for words, pattern in _ORDERS)

# markers that chat templates, real or made up, put between turns
_TURNS = re.compile(
    r"<\|[^|<>\n]{1,40}\|>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>|```|"
    r"(?:^|\n)[ \t]*#{2,4}[ \t]*(?:system|instructions?|response|assistant|user|guidelines|output form|new task)\b|"
    r"\n[ \t]*(?:system|assistant|human|user)[ \t]*:|^[ \t]*(?:system|assistant)[ \t]*:[ \t]*(?:you|ignore|please)\b",
    re.IGNORECASE,
)
_TEMPLATE = re.compile(r"\{\{|\{%|\{#|\$\{|<%|#\{")
_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u200b\u2060-\u2064\u202a-\u202e\u2066-\u2069\ufeff"
    "\U000e0000-\U000e007f]"
    # a single one selects a form of the character before it; several in a row encode a message
    "|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}"
)
# the flags of England, Scotland and Wales are written with tag characters
_TAG_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,6}\U000e007f")
_TAGS = {code: chr(code - 0xE0000) for code in range(0xE0020, 0xE007F)}
_UNTRICKED: dict[int, str | None] = {
    **dict.fromkeys([0x00AD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF]),
    **dict.fromkeys([*range(9), 0x0B, 0x0C, *range(0x0E, 0x20), *range(0x7F, 0x85), *range(0x86, 0xA0)]),
    **dict.fromkeys(range(0xFE00, 0xFE10)),
    **_TAGS,
    0x2039: "<",
    0x203A: ">",
}
_TAG = re.compile(r"<[\s/]*([a-zA-Z_][\w-]{0,40})[\s/]*>")
_SPACES = re.compile(r"[^\S\n]+")


class Finding(NamedTuple):
    """`excerpt` is at most 80 safe characters on one line, around what was found."""

    kind: Kind
    excerpt: str


def findings(text: str, frames: Iterable[str] = FRAMES, longest: int = LONG_LINE) -> list[Finding]:
    """At most one finding of each kind, in the order of KINDS. `frames`: the tags that close a frame, in lower case and
    without a number. Above `longest` characters a text is very long. Full-width letters, hidden characters and line breaks
    do not hide an order; misspellings and paraphrases do. Takes linear time."""
    plain = _plain(text)
    results: list[Finding] = []
    line = " ".join(plain.split()) if "  " in plain or not plain.isprintable() else plain
    lowered = line.lower()
    orders = (pattern.search(line) for words, pattern in _COMPILED if any(word in lowered for word in words))
    if at := next(filter(None, orders), None):
        results.append(Finding("order", _around(line, at)))
    names = frozenset(frames)
    tags = (at for at in _TAG.finditer(plain) if _bare(at.group(1)) in names) if "<" in plain else iter(())
    if at := next(tags, None) or _TURNS.search(plain):
        results.append(Finding("frame", _around(plain, at)))
    if at := _TEMPLATE.search(plain):
        results.append(Finding("template", _around(plain, at)))
    flagless = _TAG_FLAG.sub(lambda flag: "x" * len(flag.group()), text) if "\U0001f3f4" in text else text
    if not (text.isascii() and text.isprintable()) and (at := _HIDDEN.search(flagless)):
        # the place around the hidden characters, with these by number: `zero‹U+200B›width`
        start = max(0, at.start() - 20)
        piece = ("…" if start else "") + text[start : at.start() + EXCERPT]
        named = _HIDDEN.sub(lambda hidden: "".join(f"‹U+{ord(c):04X}›" for c in hidden.group()), piece)
        results.append(Finding("hidden", one_line(named, EXCERPT)))
    if len(text) > longest:
        results.append(Finding("long", one_line(text, EXCERPT)))
    return results


def frames_in(template: str) -> frozenset[str]:
    """The names of the tags that a prompt's template closes, in lower case and without a number at their end."""
    return frozenset(_bare(name) for name in re.findall(r"</([a-zA-Z_][\w-]*)>", template))


def _plain(text: str) -> str:
    """The text as a model would understand it: normal width, no invisible characters, single spaces."""
    if text.isascii() and text.isprintable():
        return text
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", text).translate(_UNTRICKED))


def _bare(name: str) -> str:
    return re.sub(r"[_-]?\d+$", "", name.lower())


def _around(text: str, at: re.Match[str]) -> str:
    """One safe line that shows the match, and the beginning of the text if both fit."""
    if at.end() < EXCERPT:
        return one_line(text, EXCERPT)
    return one_line("…" + text[max(0, at.start() - 20) : at.start() + 8 * EXCERPT], EXCERPT)
