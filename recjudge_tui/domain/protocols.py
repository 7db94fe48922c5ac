"""What each protocol is: the one place for its unit, scale, question and defaults. Everything else derives from it. A new
protocol is one entry of PROTOCOLS, its three functions (recjudge_tui/protocols) and its prompts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from recjudge_tui.domain.made_lists import ADVERSARIAL, PLANTED
from recjudge_tui.errors import UsageError

if TYPE_CHECKING:
    from recjudge_tui.domain.material import CaseKind


# Zhang et al.: the value of a score that a user or a judge did not give
MISSING_TRUTH, MISSING_JUDGE = 3.0, 0.0
LINES, THEMES = "lines", "themes"
# the aspects that the paper's users and evaluators scored
ZHANG_ASPECTS = ("persuasiveness", "transparency", "accuracy", "satisfaction")


@dataclass(frozen=True)
class PublishedForm:
    """One protocol as its paper has it: the preset's settings, and the differences of the text from our own form, one
    phrase each. needs_baseline: the paper compares each system with one."""

    paper: str
    settings: Mapping[str, Any]
    prompt: tuple[str, ...]
    needs_baseline: bool = False

    def lines(self) -> tuple[str, ...]:
        """The preset in full, one line each: its settings, then its prompt."""
        values = ", ".join(f"{name} {_word(value)}" for name, value in self.settings.items())
        return f"as published in {self.paper}: {values}", *(f"as published: {text}" for text in self.prompt)


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)


# all three papers set the temperature to 0 and ask once
_ONCE = {"temperature": 0.0, "repeats": 1}
_SAER = "SAER (Liu et al., SIGIR 2026)"

SAER_LISTS = PublishedForm(
    _SAER,
    {"top_k": 10, "history_days": 183, **_ONCE},
    (
        "parts in the order examples, context, list, guidelines, output",
        "five examples",
        "without what describes the customer as a person",
        "without our rules on minor and severe issues",
    ),
)
SAER_PAIRS = PublishedForm(
    _SAER,
    {"top_k": 10, "history_days": 183, "swap": True, **_ONCE},
    (
        "parts in the order examples, context, sets, guidelines, output",
        "without what describes the customer as a person",
    ),
)
SAER_ADVERSARIAL = PublishedForm(
    _SAER,
    {"top_k": 10, "history_days": 183, **_ONCE},
    (*SAER_PAIRS.prompt, "one call a pair, in a drawn order"),
)
RECSYS_ARENA = PublishedForm(
    "RecSys Arena (Wu et al., arXiv 2412.11068)",
    {"top_k": 5, "history": 5, "swap": False, "aspects": "multi", "profile": "attributes", **_ONCE},
    (
        "five titles with genres as the history, without dates, ratings, searches and clicks",
        "the statements in the words of Figure 6, the overall question after them, the form of the reply last",
        "the tested system is A, the baseline B",
    ),
    needs_baseline=True,
)
ZHANG = PublishedForm(
    "Zhang et al. 2024",
    {"reasoning": "none", "history": 0, "profile": "none", "keep_example_pair": True, **_ONCE},
    (
        "scores without reasoning, their form last: statements, scale, earlier ratings, the user's place, text, scores",
        "words only for 1 and 5 of the scale",
        "a missing score of a user as 3 and of the judge as 0, where agreement is asked for as published",
    ),
)


# ---- protocols ---------------------------------------------------------------------------------------------------


# what describes the user as a person: nothing, the attributes, or a text that a model writes from the history
Profile = Literal["none", "attributes", "llm"]
LeaderboardKind = Literal["wins", "means", "shares"]
# the aspect of a verdict that is about the whole case; other aspects are data of the prompts
OVERALL = "overall"


@dataclass(frozen=True)
class ProtocolFacts:
    """One way of judging. `top_k`, `history`, `profile` are a run's defaults. unit: what a verdict is about. labels: value
    -> name, highest first; with `scores` of the whole numbers; empty: numbers only, between `ends`. scores: a number,
    averaged over cases; else a label. spellings: other ways to write a label, in lower case -> value. question: the
    protocol that asks the same question, so that verdicts can be compared. disagreement: the smallest difference that
    counts. prompts: kind of data -> default prompt. prompts_of: the protocol whose prompts it uses. tokens_a_reply: a
    guess, for estimates. needs_history: users without one are left out by default. many_aspects: the shipped prompts ask
    about several. list_names: what prompts call the two lists, in order. directions: words for verdicts that moved up and
    down. tests_judges: its cases say nothing about systems, and reports on systems leave it out. reads: its calls read
    texts about cases and judge nothing. published: what --as-published sets; None: unknown. reference: its paper's key in
    reports/references.bib."""

    name: str
    unit: CaseKind
    summary: str
    prompts: Mapping[str, str]
    labels: Mapping[float, str] = field(default_factory=dict)
    ends: tuple[float, float] = (0.0, 1.0)
    scores: bool = False
    spellings: Mapping[str, float] = field(default_factory=dict)
    question: str = ""
    disagreement: float = 0.5
    prompts_of: str = ""
    top_k: int = 10
    history: int = 100
    profile: Profile = "attributes"
    tokens_a_reply: int = 180
    needs_history: bool = True
    many_aspects: bool = False
    list_names: tuple[str, str] = ("Set 1", "Set 2")
    directions: tuple[str, str] = ("higher", "lower")
    tests_judges: bool = False
    reads: bool = False
    published: PublishedForm | None = None
    reference: str = ""

    @property
    def low(self) -> float:
        return min(self.labels, default=self.ends[0])

    @property
    def high(self) -> float:
        return max(self.labels, default=self.ends[1])

    @cached_property
    def value_of_word(self) -> Mapping[str, float]:
        """Every way to write a label in a file of labels, in lower case -> value."""
        return {name.lower(): value for value, name in self.labels.items()} | dict(self.spellings)

    @property
    def prompt_protocol(self) -> str:
        """The protocol that its prompts are written for."""
        return self.prompts_of or self.name

    @property
    def shown(self) -> CaseKind:
        """What a call shows of a case: a protocol that reads shows a text."""
        return "explanation" if self.reads else self.unit

    @property
    def of_pairs(self) -> bool:
        return self.unit == "pair"

    @property
    def leaderboard(self) -> LeaderboardKind:
        """How systems are ranked: by wins over other systems, mean scores, or shares of labels."""
        return "wins" if self.of_pairs else "means" if self.scores else "shares"

    @property
    def decidable(self) -> bool:
        """Whether one user's verdicts say which of two systems is better, so that a run may stop early."""
        return not self.scores and not self.tests_judges

    @property
    def subject(self) -> str:
        """What a rater can judge once: a kind of case. Cases that test judges are separate from those of ordinary runs."""
        return self.name if self.tests_judges else self.unit


_SAER_PAPER, _ARENA_PAPER = "liu2026saer", "wu2024arena"
_POINTWISE = ProtocolFacts(
    name="pointwise",
    unit="list",
    summary="each list alone: Good, Partial or Poor",
    labels={2.0: "Good", 1.0: "Partial", 0.0: "Poor"},
    spellings={"good match": 2.0, "partial match": 1.0, "poor match": 0.0},
    directions=("milder", "harsher"),
    prompts={"shopping": "pointwise-shopping", "media": "pointwise-media"},
    published=SAER_LISTS,
    reference=_SAER_PAPER,
)
_PAIRWISE = ProtocolFacts(
    name="pairwise",
    unit="pair",
    summary="two lists of one user",
    labels={1.0: "A", 0.0: "Tie", -1.0: "B"},
    spellings={
        "a wins": 1.0, "set 1": 1.0, "b wins": -1.0, "set 2": -1.0, "ties": 0.0, "draw": 0.0,
        # tables of battles between models
        "model_a": 1.0, "model_b": -1.0, "tie (bothbad)": 0.0,
    },
    prompts={"shopping": "pairwise-shopping", "media": "pairwise-media"},
    published=SAER_PAIRS,
    reference=_SAER_PAPER,
)  # fmt: skip
_ARENA = replace(
    _PAIRWISE,
    name="arena",
    summary="two lists, as the user, on six aspects",
    question="pairwise",
    prompts={"media": "arena-media", "shopping": "arena-shopping"},
    top_k=5,
    history=50,
    tokens_a_reply=700,
    many_aspects=True,
    list_names=("A", "B"),
    published=RECSYS_ARENA,
    reference=_ARENA_PAPER,
)
_ABSOLUTE = ProtocolFacts(
    name="absolute",
    unit="list",
    summary="each list alone from 0 to 1, as the user",
    ends=(0.0, 1.0),
    scores=True,
    prompts={"media": "absolute-media", "shopping": "absolute-shopping"},
    top_k=5,
    history=50,
    tokens_a_reply=120,
    reference=_ARENA_PAPER,
)
_EXPLANATION = ProtocolFacts(
    name="explanation",
    unit="explanation",
    summary="each explanation from 1 to 5 on four aspects",
    labels={5.0: "5", 4.0: "4", 3.0: "3", 2.0: "2", 1.0: "1"},
    scores=True,
    disagreement=2.0,
    prompts={"media": "explanation-media", "shopping": "explanation-shopping"},
    history=0,
    profile="none",
    tokens_a_reply=120,
    needs_history=False,
    many_aspects=True,
    published=ZHANG,
    reference="zhang2024evaluators",
)
_ADVERSARIAL = replace(
    _PAIRWISE,
    name=ADVERSARIAL,
    summary="a user's own list against another user's",
    prompts_of="pairwise",
    tests_judges=True,
    published=SAER_ADVERSARIAL,
)
_PLANTED = replace(
    _POINTWISE,
    name=PLANTED,
    summary="a list into which a fault was planted",
    prompts_of="pointwise",
    tests_judges=True,
)
# what a run reads instead of judging: texts, of which it makes lines (themes, rules), or says which themes a reason uses
_LINES = ProtocolFacts(
    name=LINES,
    unit="pair",
    summary="short lines made from texts",
    prompts={"media": "themes", "shopping": "themes"},
    ends=(1.0, 100.0),
    scores=True,
    history=0,
    profile="none",
    tokens_a_reply=300,
    needs_history=False,
    tests_judges=True,
    reads=True,
)
_THEMES = replace(
    _LINES,
    name=THEMES,
    summary="the themes that a reason uses",
    prompts={"media": "theme-labels", "shopping": "theme-labels"},
    labels={1.0: "A", 0.0: "neither", -1.0: "B"},
    scores=False,
    tokens_a_reply=120,
    many_aspects=True,
)

# in the order in which they are offered; labels without a protocol belong to the first protocol of their unit
PROTOCOLS: dict[str, ProtocolFacts] = {
    facts.name: facts
    for facts in (
        *(_POINTWISE, _PAIRWISE, _ARENA, _ABSOLUTE, _EXPLANATION, _ADVERSARIAL, _PLANTED),
        *(_LINES, _THEMES),
    )
}
# SAER in two stages: each list alone, then in pairs
SAER = ("pointwise", "pairwise")


def protocol_facts(name: str) -> ProtocolFacts:
    """The facts of the protocol called `name`. Raises UsageError for an unknown one, naming the offered ones."""
    if name not in PROTOCOLS:
        raise UsageError(f"no protocol “{name}”", f"Available: {', '.join(offered())}.")
    return PROTOCOLS[name]


def offered() -> tuple[str, ...]:
    """The protocols that runs and reports can use, in order."""
    return tuple(name for name, facts in PROTOCOLS.items() if not facts.tests_judges)


def with_unit(unit: CaseKind) -> tuple[str, ...]:
    """The offered protocols that judge this unit, in order."""
    return tuple(name for name, facts in PROTOCOLS.items() if facts.unit == unit and not facts.tests_judges)


def decidable() -> tuple[str, ...]:
    """The protocols whose runs can stop as soon as the systems are told apart."""
    return tuple(name for name in PROTOCOLS if PROTOCOLS[name].decidable)


def question_of(name: str) -> str:
    """The protocol whose question `name` answers. Verdicts on the same question can be compared. An unknown protocol is
    returned unchanged."""
    return (PROTOCOLS[name].question if name in PROTOCOLS else "") or name


def same_question(name: str) -> tuple[str, ...]:
    """The offered protocols that answer the same question as `name`, including itself."""
    return tuple(other for other in offered() if question_of(other) == question_of(name))


def compares_lists(name: str) -> bool:
    """Whether the protocol judges two lists against each other. False for an unknown one."""
    return name in PROTOCOLS and PROTOCOLS[name].of_pairs


def smallest_disagreement(name: str) -> float:
    """The smallest difference of two values that counts as a disagreement."""
    return PROTOCOLS[name].disagreement if name in PROTOCOLS else ProtocolFacts.disagreement
