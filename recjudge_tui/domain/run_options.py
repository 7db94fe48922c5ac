"""The options of a run, each declared once: the stored settings, the command line and the launch form derive from here.
This module loads nothing heavy, because `recjudge run --help` reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from recjudge_tui.domain.address import LEAST_CAP
from recjudge_tui.domain.options import OCCASIONS, WHERE, Option
from recjudge_tui.domain.protocols import PROTOCOLS, SAER, Profile, ProtocolFacts, protocol_facts

Aspects = Literal["multi", "single"]
Shots = Literal["none", "one", "personal"]
Reasoning = Literal["first", "none"]
Stratify = Literal["none", "activity"]
Until = Literal["", "decided"]
Decides = Literal["question", "cases", "draw", "work"]

SIX_MONTHS_DAYS = 183
# the longest timeout of one attempt, in seconds
TIMEOUT_S = 120.0
# the seed that draws samples, examples, orders and annotation tasks
SEED = 7
MOST_AT_ONCE = 1024
# the command that runs the protocols of SAER one after the other
SAER_NAME = "saer"
# the options that choose occasions; reports have them too
OCCASION_SETTINGS = ("contexts", "served_from", "served_to")


def _lists(facts: ProtocolFacts) -> bool:
    return facts.unit != "explanation"


def _texts(facts: ProtocolFacts) -> bool:
    return facts.unit == "explanation"


@dataclass(frozen=True)
class RunOption(Option):
    """An option of a run; it is rare unless it says otherwise. by_protocol: the default comes from the protocol's facts.
    taken_by: whether a protocol has this option. decides: what it affects: what the judge is asked, which cases are
    judged, how they are drawn, or how the run is executed."""

    rare: bool = True
    by_protocol: bool = False
    taken_by: Callable[[ProtocolFacts], bool] = lambda _: True
    decides: Decides = "question"

    def is_taken_by(self, protocol: str) -> bool:
        """Whether a run of the protocol, or of a stage of SAER, has this option."""
        stages = SAER if protocol == SAER_NAME else (protocol,)
        return any(self.taken_by(PROTOCOLS[stage]) for stage in stages)

    def defaults_text(self, protocols: Sequence[str]) -> str:
        """The default by protocol, the most common first: `10; arena and absolute: 5`."""
        values = {protocol: str(getattr(PROTOCOLS[protocol], self.name)) for protocol in protocols}
        counts = list(values.values())
        distinct = sorted(dict.fromkeys(counts), key=counts.count, reverse=True)
        others = [f"{_and([p for p in values if values[p] == value])}: {value}" for value in distinct[1:]]
        return "; ".join([distinct[0], *others])


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


_DECLARED = (
    RunOption(
        "as_published", bool, "Ask as the paper does: its settings and the form of its prompt.",
        default=False, flag="--as-published", taken_by=lambda facts: facts.published is not None,
        details="--dry-run shows all of it; “recjudge docs method” says where our own form differs and why.",
        label="form", form_choices=(("own", "our own"), ("published", "as published")), rare=False,
    ),
    RunOption(
        "systems", tuple, "The systems to judge, separated by commas. Default: all.",
        decides="cases", default=(), flag="--systems", metavar="A,B,...", label="systems", placeholder="all", rare=False,
    ),
    RunOption(
        "baseline", str, "Compare each system with this one only. Default: every pair of systems.",
        decides="cases", default="", flag="--baseline", metavar="SYS", taken_by=lambda facts: facts.of_pairs,
        label="baseline", placeholder="every pair", rare=False,
    ),
    *(
        RunOption(**{**vars(option), "name": name, "rare": True}, decides="cases")
        for name, option in zip(OCCASION_SETTINGS, OCCASIONS, strict=True)
    ),
    RunOption(
        **{**vars(WHERE), "rare": True}, decides="cases", taken_by=lambda facts: not facts.tests_judges,
    ),
    RunOption(
        "top_k", int, "How many items of each list are shown to the judge.",
        default=ProtocolFacts.top_k, by_protocol=True, bounds={"ge": 1, "le": 1000},
        flag="--top", metavar="K", taken_by=_lists, label="top K", rare=False,
    ),
    RunOption(
        "history", int, "How many purchases and ratings of the user are shown, newest first.",
        default=ProtocolFacts.history, by_protocol=True, bounds={"ge": 0},
        flag="--history", metavar="N", label="events",
    ),
    RunOption(
        "history_days", int, "How many days back the history reaches.",
        default=SIX_MONTHS_DAYS, bounds={"ge": 1}, flag="--history-days", metavar="D", label="days back",
    ),
    RunOption(
        "as_of", str, "The end of the history. Default: each user's last shown event.",
        decides="draw", default="", flag="--as-of", metavar="TIME",
        label="history to", placeholder="each user's last event",
    ),
    RunOption(
        "no_history", bool, "Also judge users who have no history.",
        default=False, flag="--no-history", taken_by=_lists,
        label="no history", form_choices=(("leave", "leave out"), ("judge", "judge too")),
    ),
    RunOption(
        "aspects", str, "All aspects in one call, or a call for each.",
        default="multi", choices=get_args(Aspects), flag="--aspects", taken_by=lambda facts: facts.many_aspects,
        label="aspects", form_choices=(("multi", "all in one call"), ("single", "a call for each")),
    ),
    RunOption(
        "reasoning", str, "Whether the judge writes its reasoning before the scores.",
        default="first", choices=get_args(Reasoning), flag="--reasoning", taken_by=_texts,
        details="Only for explanations.", label="reasoning",
        form_choices=(("first", "before the scores"), ("none", "none: scores only")),
    ),
    RunOption(
        "shots", str, "Show a scored example: one pair for all, or one of each user's own.",
        default="none", choices=get_args(Shots), flag="--shots", details="Only for explanations.", taken_by=_texts,
        label="example",
        form_choices=(("none", "none"), ("one", "one pair for all"), ("personal", "one of each user's own")),
    ),
    RunOption(
        "examples_from", str, "Whose scores the example shows. Default: the users' own.",
        default="", flag="--examples-from", metavar="RATER", taken_by=_texts,
        label="scores of", placeholder="the users' own",
    ),
    RunOption(
        "keep_example_pair", bool, "Also judge the pair that the example is about, as Zhang et al. did.",
        default=False, flag="--keep-example-pair", taken_by=_texts,
        label="its pair", form_choices=(("leave", "leave out"), ("judge", "judge too")),
    ),
    RunOption(
        "profile", str, "What the judge sees of the user: nothing, attributes, or a profile.",
        default=ProtocolFacts.profile, by_protocol=True, choices=get_args(Profile), flag="--profile",
        details="llm: the model first writes a profile from the history.", label="profile",
        form_choices=(("none", "nothing"), ("attributes", "attributes"), ("llm", "written by the model")),
    ),
    RunOption(
        "variables", dict, "Set a variable of the prompt, such as item=book.",
        default={}, flag="--var", metavar="NAME=WORD", label="variables", placeholder="the prompt's own",
    ),
    RunOption(
        "domain", str, "What is recommended; sets the prompt's words. Default: from the data.",
        default="", flag="--domain", metavar="NAME",
        details="films, books, music, news, places, shop, or one of your own (recjudge docs prompts).",
        label="domain", form_choices=(("", "by the data"),),
    ),
    RunOption(
        "images", bool, "Show the judge the images of the items that it judges.",
        default=False, flag="--images", details="Only a judge that sees images can be asked (recjudge docs images).",
        label="images", form_choices=(("no", "not shown"), ("yes", "shown")),
    ),
    RunOption(
        "limit", int, "Judge only the cases of the first N users.",
        decides="draw", bounds={"ge": 1}, flag="--limit", metavar="N", label="first N", placeholder="all", rare=False,
    ),
    RunOption(
        "sample", int, "Judge the cases of N users drawn at random.",
        decides="draw", bounds={"ge": 1}, flag="--sample", metavar="N", label="sample N",
        placeholder="no sample", rare=False,
    ),
    RunOption(
        "stratify", str, "Draw the sample's users at random, or evenly from 4 activity levels.",
        decides="draw", default="none", choices=get_args(Stratify), flag="--stratify",
        details="A user's level depends on the number of events shown.",
        label="drawn", form_choices=(("none", "at random"), ("activity", "by activity level")),
    ),
    RunOption(
        "until", str, "Stop when an anytime-valid interval separates every two systems.",
        decides="cases", default="", choices=("decided",), flag="--until", details="Users are judged in random order.",
        taken_by=lambda facts: facts.decidable, label="until",
        form_choices=(("", "all are judged"), ("decided", "decided")), rare=False,
    ),
    RunOption(
        "margin", float, "With --until: also stop when the interval is at most this wide.",
        decides="cases", details="0.1 is ten percentage points of the win rate.", bounds={"ge": 0.01, "lt": 1},
        flag="--margin", metavar="W", taken_by=lambda facts: facts.decidable, label="width", placeholder="decided only",
    ),
    RunOption(
        "seed", int, "The seed of the sample, the examples and the judge.",
        decides="draw", default=SEED, flag="--seed", label="seed",
    ),
    RunOption(
        "swap", bool, "Ask about each pair in both orders, to measure position bias.",
        default=True, flag="--swap/--no-swap", taken_by=lambda facts: facts.of_pairs,
        details="In one order the tested system comes first and the baseline second; without a baseline it is drawn.",
        label="order", form_choices=(("both", "both orders"), ("one", "one order")),
    ),
    RunOption(
        "concurrency", int, "How many calls run at once. Default: the judge's own.",
        decides="work", bounds={"ge": 1, "le": MOST_AT_ONCE}, flag="--concurrency", metavar="N",
        label="at once", placeholder="auto",
    ),
    RunOption(
        "timeout_s", float, "Timeout of each attempt, in seconds.",
        decides="work", default=TIMEOUT_S, bounds={"gt": 0}, flag="--timeout", metavar="S", label="timeout",
    ),
    RunOption(
        "max_tokens", int, "The longest reply, in tokens.",
        default=2048, bounds={"ge": LEAST_CAP}, flag="--max-tokens", metavar="N", label="max tokens",
    ),
    RunOption(
        "sending", dict, "Send this to the server too, such as think=false or reasoning_effort=low.",
        default={}, flag="--option", metavar="KEY=JSON", as_json=True,
        details="Repeat it for several. An object is merged into the one that recjudge sends (recjudge docs judges).",
        label="sent along", placeholder="nothing",
    ),
    RunOption(
        "repeats", int, "Make every call N times and combine: labels by vote, scores by their mean.",
        default=1, bounds={"ge": 1, "le": 100}, flag="--repeats", metavar="N", label="repeats",
    ),
    RunOption(
        "temperature", float, "Sampling temperature. Default: 0, or 0.7 with --repeats.",
        bounds={"ge": 0, "le": 2}, flag="--temperature", metavar="T", label="temperature", placeholder="0",
    ),
    RunOption(
        "budget_usd", float, "Stop before the run costs more than this.",
        decides="work", bounds={"gt": 0}, flag="--budget", metavar="USD", label="budget $", placeholder="none", rare=False,
    ),
    RunOption(
        "requests_per_minute", float, "The maximum number of requests per minute.",
        decides="work", bounds={"gt": 0}, flag="--rpm", metavar="N", label="calls/min", placeholder="no limit",
    ),
    RunOption(
        "tokens_per_minute", float, "The maximum number of tokens per minute.",
        decides="work", bounds={"gt": 0}, flag="--tpm", metavar="N", label="tokens/min", placeholder="no limit",
    ),
    RunOption(
        "again", bool, "Judge already judged cases again, and replace the verdicts.",
        decides="cases", default=False, flag="--again",
        label="judge again", form_choices=(("no", "no"), ("yes", "yes, replace verdicts")),
    ),
    RunOption(
        "use_cache", bool, "Ask again even if the same request was answered before.",
        decides="work", default=True, flag="--no-cache",
        label="stored", form_choices=(("use", "use stored replies"), ("ask", "ask again")),
    ),
)  # fmt: skip
RUN_OPTIONS: dict[str, RunOption] = {option.name: option for option in _DECLARED}


def settings_that(*decide: Decides) -> frozenset[str]:
    """The names of the settings that decide one of these."""
    return frozenset(name for name, option in RUN_OPTIONS.items() if option.decides in decide)


def summary_of(protocol: str) -> str:
    """What a protocol, or SAER with its two stages, judges, and how often it asks."""
    if protocol == SAER_NAME:
        return "each list alone, then in pairs; two runs"
    facts = protocol_facts(protocol)
    return f"{facts.summary}, both orders" if facts.of_pairs else facts.summary
