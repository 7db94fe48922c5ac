"""Every command that is not a declared report, declared once: its help, its options, and the function that carries it out.
Loads nothing heavy: the function's module is imported when the command runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from recjudge_tui.cli.options import (
    PROJECT_VARIABLE,
    Decorator,
    FiniteRange,
    ProtocolChoice,
    address_options,
    db_option,
    later,
    new_project_option,
    occasion_options,
    output_option,
    server_options,
    setting_options,
    split_names,
    table_options,
    trust_option,
)
from recjudge_tui.domain.made_lists import ADVERSARIAL
from recjudge_tui.domain.options import RATERS, SYSTEMS, Option
from recjudge_tui.domain.options import SEED as DRAWN
from recjudge_tui.domain.protocols import SAER, decidable, offered, protocol_facts
from recjudge_tui.domain.roles import IMPORTED
from recjudge_tui.domain.run_options import RUN_OPTIONS, SAER_NAME, SEED, summary_of
from recjudge_tui.reports.declare import REPORTS, K
from recjudge_tui.reports.figures import OPTIONS as FIGURE_OPTIONS
from recjudge_tui.stats.defaults import TOP_K


@dataclass(frozen=True)
class Command:
    """A command: its name with that of its group; its help, in paragraphs; `place`, its function, `module:name` under
    `recjudge_tui.cli`; its options. needs: the open file or project, which the function is given first. prints: it takes
    --format and -o, and its function returns what is to be written. rare: the options that only --help-all shows. Of a
    declared report, `place` is a function that is called before it is made (`cli.command`)."""

    name: str
    help: str
    place: str
    options: tuple[Option | Decorator, ...] = ()
    examples: tuple[str, ...] = ()
    needs: Literal["", "file", "project"] = "file"
    prints: bool = False
    hidden: bool = False
    rare: tuple[str, ...] = ()


# groups of commands -> their help
GROUPS = {
    "project": "List, create, show or delete projects.",
    "imports": "List or undo imports.",
    "cases": "List or show cases. Cases are the things that are judged.",
    "judge": "List or test judges.",
    "prompt": "List, show, copy, check, try or delete prompts.",
    "runs": "List, resume, retry, rename, stop or delete runs.",
    "batch": "Send a run's calls as a batch, by file or batch API.\n\nA file is for your own servers; the batch API is the"
    " provider's, at a lower price.\n\nPlan a run with “recjudge run … --plan-only”, or stop one. Then send its outstanding"
    " calls as a batch.",
    "robustness": "Test a judge with planted faults, prompts and positions.",
    "verdicts": "List verdicts, or accept, override, note or tag them.",
    "rater": "List, rename, combine or delete raters.",
    "annotate": "Let people judge cases blind, and settle disagreements.",
    "outcome": "Record live experiments, and compare judges with them. Shows whether the judges predicted their results.",
    "db": "Back up the database file.",
    "config": "Show your settings: theme, name, judge and keys.",
}
# heading in the help -> its commands; declared reports that belong to no group follow
SECTIONS: dict[str, list[str]] = {
    "Data": ["project", "import", "imports", "cases", "export"],
    "Judge": ["judge", "prompt", "run", "runs", "batch", "robustness"],
    "People": ["verdicts", "rater", "annotate"],
    "Results": ["outcome", "methods", "report", "reproduce"],
    "Operate": ["demo", "db", "config", "docs", "doctor"],
}
for _report in REPORTS.values():
    if " " not in _report.name:
        SECTIONS[_report.section].append(_report.name)


def opt(names: str, help: str, **attributes: Any) -> Decorator:  # noqa: A002
    """A click option by its names, separated by spaces."""
    return click.option(*names.split(), help=help, **attributes)


def flag(names: str, help: str) -> Decorator:  # noqa: A002
    return opt(names, help, is_flag=True)


arg = click.argument
PATH = click.Path(path_type=Path)
FILE_ONLY = click.Path(path_type=Path, dir_okay=False)
POSITIVE = FiniteRange(min=0, min_open=True)
NAME, PROMPT_NAME = arg("name"), arg("name", metavar="NAME[@VERSION]")
FILE = arg("file", type=PATH)
RUN_ID = arg("run_id", metavar="ID", type=int)
# a project's name, by its place or with -p
PROJECT_NAME = (arg("name", required=False), opt("-p --project", "The same as NAME.", metavar="PROJECT"))
YES = flag("--yes", "Do not ask for confirmation.")
DETACH = flag("--detach", "Run in the background.")
HUMAN_PRICE = opt(
    "--human-price", "saer: what a person is paid for a case, for comparison.", type=POSITIVE, metavar="USD"
)
SHOWN_RATERS = RATERS.but(help="Only these raters. Default: all.")
KINDS = ("items", "users", "events", "lists", "explanations", "labels")
EXPORTS = ("verdicts", "calls", "flags", "cases", "labels", "images", "lists", "qrels")
PAPERS = ("saer", "arena", "zhang2024")
# the ending of a file that names several runs
EXPERIMENT = ".toml"
HTML_SECTIONS = (
    "about", "runs", "leaderboards", "agreement", "shares", "metrics", "flags", "position", "biases", "failures", "cost",
    "pictures", "prompts",
)  # fmt: skip
# the settings that a stored run may get anew
CHANGES = tuple(
    RUN_OPTIONS[name].but(default=None, by_protocol=False, rare=False, help=text, details="")
    for name, text in {
        "budget_usd": "A new budget for the whole run, including what it has spent.",
        "max_tokens": "Another cap on a reply, in tokens.",
        "history": "Show fewer events of each user, in cases without an answer.",
        "timeout_s": "Another timeout of each attempt, in seconds.",
        "sending": "Send this to the server too, such as frequency_penalty=0.5.",
    }.items()
)
# the settings of a run by which a judge is tested
TESTED = (
    "as_published", "systems", "domain", "use_cache", "sample", "seed", "top_k", "history", "history_days", "concurrency",
    "timeout_s", "budget_usd", "max_tokens", "sending",
)  # fmt: skip
_RUN = (
    opt("--judge spec", "Run this judge first: rules, ollama:MODEL, ...", metavar="SPEC"),
    address_options,
    flag("--dry-run", "Print the estimate and stop."),
    flag("--detach", "Run in the background. Print the table later, without --judge."),
    setting_options(
        *TESTED, protocols=(ADVERSARIAL,), sample="Judge the cases of N users.  [default: 100; position: all]",
        seed="The seed of the users and positions drawn.",
    ),
)  # fmt: skip
_NAMED = (
    opt("--prompt", "The prompt to use. Default: SAER's own for this kind of data.", metavar="NAME[@VERSION]", default=""),
    opt("--name new_rater", "The judge's name as a rater.", metavar="RATER", default=""),
)  # fmt: skip


def _about(method: str) -> str:
    """What a method judges, and the paper that it is from."""
    published = protocol_facts(SAER[0] if method == SAER_NAME else method).published
    return summary_of(method) + (f" ({published.paper.partition(' (')[0]})" if published else "")


_METHODS = "\n".join(f"{name:<12} {_about(name)}" for name in (*offered(), SAER_NAME))
_RUN_HELP = f"""Judge lists or explanations with a published method.

\b
{_METHODS}

Prints the estimate, then progress, then one line: run id, done, failed, cost. Resume an
interrupted run with “recjudge runs resume ID”; calls that have an answer are not repeated. Runs of one judge with
the same prompt and settings belong to one rater; cases it has judged are left out, unless you add --again. saer prints
a page of results instead (--format, -o); to resume it, run the same command again. With saer, --budget
covers both stages, and --prompt may name one prompt for each stage: A,B.
A FILE.toml names protocols, judges and prompts instead: all their combinations are planned, resumed and paid for
as one, and end in one table. --save writes such a file from a command. Keys: protocols, judges, prompts, truth, budget,
[options], and [options.PROTOCOL] for one protocol; options are named as here, without the dashes.
--until decided ({", ".join(decidable())}) stops when the systems can be told apart: after every user
it checks the win rate (ties count half) or the difference between shares of the best label, with the
betting confidence sequence of Waudby-Smith and Ramdas (2024)."""

_DECLARED = (
    Command(
        "project list", "List all projects and what they contain.",
        "reports.listings:projects", (), ("project list",), prints=True,
    ),
    Command(
        "project new", "Create an empty project.",
        "records:project_new", (NAME,), ("project new movies",),
    ),
    Command(
        "project show", "Show what a project contains: data, systems, raters, runs.",
        "records:project_show", PROJECT_NAME, ("project show movies",), prints=True,
    ),
    Command(
        "project delete", "Delete a project and everything in it.",
        "records:project_delete", (*PROJECT_NAME, YES), ("project delete movies --yes",),
    ),
    Command(
        "import", "Import files or folders into a project. A new project is created.\n\nAn import is stored as a"
        " whole or not at all (recjudge docs importing). The path - is the standard input.",
        "data:import_", (
            arg("paths", nargs=-1, required=True, type=PATH, metavar="PATH..."), new_project_option,
            opt("--as kind", "What the files contain. Default: everything that is recognised.",
                type=click.Choice(KINDS)),
            opt("--layout", "The layout of the files. Default: detected.", metavar="NAME"),
            opt("--mapping", "A file that maps columns to fields (recjudge docs mapping).", type=PATH,
                metavar="FILE.toml"),
            opt("--system", "The system, for lists or explanations without a system column.", metavar="NAME"),
            opt("--type event_type", "The type of events without a type column: click, ...", metavar="TYPE"),
            opt("--where conditions", "Only rows with this value. Repeat it: values of one column are alternatives,"
                " and all columns must match.", multiple=True, metavar="COLUMN=VALUE"),
            opt("--values", "What the answers of labels mean: 1=A,2=B. An empty meaning (x=) leaves an answer out.",
                metavar="OLD=NEW,..."),
            opt("--scale", "The scale of labels: 1..7. For pairs it goes from A to B; the higher end first turns it"
                " round.", metavar="FROM..TO"),
            flag("--keep-fitting", "Keep the labels that fit, and leave the others out."),
            opt("--domain", "What the project is about: films, books, music, news, places, shop.", metavar="NAME"),
            opt("--show-layout", "Print a shipped layout, to copy and change for --mapping.", metavar="NAME",
                is_eager=True, expose_value=False, callback=later("data:show_layout")),
            flag("--dry-run", "Show what would be stored, with the first rows, and store nothing."), db_option,
        ), (
            "import items.csv -p movies --as items",
            "import lists_a.csv lists_b.csv -p movies --as lists",
            "import ml-1m/ -p movies",
            "import esci/examples.parquet -p search --as events --where product_locale=us --where split=test",
            "import preferences.csv -p movies --as labels --values 1=A,2=B",
            "zcat lists.csv.gz | recjudge import - -p movies --as lists --system als --dry-run",
        ), needs="",
    ),
    Command(
        "imports undo", "Undo an import: remove exactly what it added. Data that calls or labels refer to is kept.",
        "records:imports_undo", (arg("import_id", metavar="ID", type=int),), ("imports undo 3",),
    ),
    Command(
        "cases show", "Show one case: the user, the lists with their flagged items, and every verdict with its"
        " reasoning.",
        "records:cases_show", (
            arg("case_id", metavar="ID", type=int),
            opt("-p --project", "The project of the case, whose id is enough.", metavar="PROJECT"),
        ), ("cases show 12", "cases show 12 --plain"), prints=True,
    ),
    Command(
        "export", "Export rows, or a figure for a paper.\n\nThe judge “replay:FILE” reads calls exported as jsonl;"
        " “import” reads exported labels, lists, qrels (the held-out events) and images (as items). Cases come with"
        " the contents and titles of their lists. As trec or ranx, lists are a run. --figure draws confusion,"
        " q-matrix, q-metric, ensembles, runs, calibration, label-shares or leaderboard; “--figure list” describes"
        " them. It needs the extra “figures” (pip install 'recjudge[figures]').",
        "export:export", (
            arg("what", type=click.Choice(EXPORTS), required=False),
            opt("--format fmt", "Default: from the file name, else csv. parquet needs the extra “parquet”; trec and"
                " ranx are for lists and qrels.", type=click.Choice(("csv", "jsonl", "json", "parquet", "trec", "ranx"))),
            output_option(), SYSTEMS.but(
                help="Lists and figures: only these systems; for pairs, both must be among them. trec and ranx: lists of"
                " one system."
            ),
            RATERS.but(help="Figures: only these raters. Default: all."),
            opt("--filter filter_text", "Only these verdicts, with a filter as in the app: “label:poor flag:any”.",
                default="", metavar="TEXT"),
            occasion_options,
            opt("--figure", "Draw this figure to the FILE (.svg, .png or .pdf). “list” lists the figures.",
                metavar="NAME", is_eager=True, callback=later("export:list_figures")),
            *FIGURE_OPTIONS,
            opt("--columns", "Figures: the width, in columns of a page.", type=click.IntRange(1, 2), default=1,
                show_default=True),
            opt("--caption/--no-caption", "Figures: write n and the kind of interval below the figure (default), or only"
                " to stderr.", default=True, show_default=True),
        ), (
            "export -p movies verdicts -o verdicts.csv",
            "export -p movies verdicts --context home --from 2024-05-01 --to 2024-05-31 -o may.csv",
            "export -p movies lists --systems als --format trec -o als.run",
            "export -p movies --figure leaderboard --systems als,bpr -o leaderboard.pdf",
            "export -p movies --figure confusion --rater qwen --truth anna -o confusion.svg",
        ), needs="project",
    ),
    Command(
        "judge list", "List the judges available here: built in, on Ollama and other servers of this machine, and"
        " used before.\n\nFor an API key, it shows the variable's name and whether it is set, never the key.",
        "reports.judges:judges_table", (opt("--base-url", "The Ollama server to ask.", metavar="URL", default=""),), (
            "judge list",
        ), prints=True,
    ),
    Command(
        "judge test", "Find out what a judge supports, with three small calls and one with an image.\n\nPrints"
        " whether the judge can be reached, the model that is served, whether the server enforces a schema, which"
        " parameters it accepts, logprobs, whether the model reads a word in an image, context length, latency and"
        " price. The result is stored. Later runs leave out refused parameters, read confidences from logprobs and"
        " refuse --images to a model that did not read the word, and estimates use the latency until a run has"
        " measured its own. Test again after a change; the new result replaces the old one.",
        "judging:judge_test", (arg("spec", metavar="SPEC"), server_options, db_option, table_options), (
            "judge test openai:gpt-4o-mini",
            "judge test openai:qwen3 --base-url http://127.0.0.1:8080/v1",
        ), needs="",
    ),
    Command(
        "prompt list", "List all prompts with their versions.",
        "judging:prompt_list", (), ("prompt list",), prints=True,
    ),
    Command(
        "prompt show", "Print a prompt as TOML, or with --case as the text that a judge would receive for one case.",
        "judging:prompt_show", (
            PROMPT_NAME, opt("--case case_id", "Render the prompt for this case.", type=int, metavar="ID"),
            flag("--as-published", "With --case: in the form of “recjudge run --as-published”."),
        ), ("prompt show pairwise-media --case 12", "prompt show arena-media --case 12 --as-published"),
    ),
    Command(
        "prompt copy", "Copy a prompt to a file, so that you can make your own. The copy gets the file's name.",
        "judging:prompt_copy", (PROMPT_NAME, FILE), ("prompt copy pairwise-shopping mine.toml",),
    ),
    Command(
        "prompt diff", "Show the differences between two prompts or versions.",
        "judging:prompt_diff", (arg("first", metavar="A"), arg("second", metavar="B")), (
            "prompt diff pairwise-media@1 pairwise-media@2",
        ),
    ),
    Command(
        "prompt lint", "Check that a prompt file can be read and rendered, and that its examples are valid replies.",
        "judging:prompt_lint", (FILE,), ("prompt lint mine.toml",), needs="",
    ),
    Command(
        "prompt add", "Store a prompt file. If the name exists and the text has changed, it becomes the next version.",
        "judging:prompt_add", (FILE,), ("prompt add mine.toml",),
    ),
    Command(
        "prompt add-examples", "Add examples to a prompt from what users took after they saw the lists.\n\nThey"
        " become the next version of your own prompt. Do not judge the users of the examples with it.",
        "judging:prompt_add_examples", (
            PROMPT_NAME,
            opt("--from source", "outcomes: pairs of lists whose user then took an item of one list only.",
                type=click.Choice(("outcomes",)), required=True),
            opt("--most", "The most examples to add.", type=click.IntRange(2, 20), default=4, show_default=True),
        ), ("prompt add-examples pairwise-media -p movies --from outcomes",), needs="project",
    ),
    Command(
        "prompt tune", "Teach a prompt by labels: examples of cases that the judge gets wrong.\n\nHalf of the users"
        " (by a hash of their ids) teach, and the other half test: no example is about a user who tests. Each"
        " candidate is compared with the prompt as it was on the same cases, by sign flips of the users' mean"
        " changes, with Holm's correction. The candidate with the highest agreement becomes the next version of your"
        " own prompt, and its description says whether it is better, worse, or not shown to be better. To go on after"
        " an interruption, repeat the command: answered calls are not repeated.",
        "judging:prompt_tune", (
            PROMPT_NAME, opt("--judge spec", "The judge that the prompt is for.", metavar="SPEC", required=True),
            address_options,
            opt("--from source", "What teaches: the labels of the person with the most, or the overrides of a reader.",
                type=click.Choice(("labels", "overrides")), default="labels", show_default=True),
            opt("--truth", "The rater whose labels teach.", metavar="RATER", default=""),
            opt("--candidates count", "The prompts to try: with 2, 4, ... examples of what the judge got wrong.",
                type=click.IntRange(1, 10), default=2, show_default=True),
            flag("--rewrite", "Also try the prompt with rules that the judge writes from its mistakes."),
            setting_options("budget_usd", budget_usd="Stop before all runs together cost more than this."),
        ), (
            "prompt tune pairwise-media -p movies --judge ollama:llama3.1:8b",
            "prompt tune mine -p movies --judge openai:gpt-4o --from overrides --candidates 3 --budget 5",
        ), needs="project", prints=True,
    ),
    Command(
        "prompt delete", "Delete a prompt of your own, or one version of it. Versions that a run used are kept.",
        "judging:prompt_delete", (PROMPT_NAME,), ("prompt delete mine@2",),
    ),
    Command(
        "prompt try", "Ask a judge about one case and print the result. Nothing is stored.\n\nSends the request that"
        " a run with the protocol's default settings would send. Prints the parsed answers and flags, and the tokens,"
        " time and cost of the call. Exits with 1 if there is no answer.",
        "judging:prompt_try", (
            PROMPT_NAME, opt("--case case_id", "The case to ask about.", type=int, required=True, metavar="ID"),
            opt("--judge spec", "The judge to ask, as in “recjudge run”. Default: the judge under [run] in the"
                " settings file.", metavar="SPEC"),
            opt("--order", "Pairs: which system's list comes first.", type=click.Choice(("ab", "ba"))),
            server_options,
        ), ("prompt try pairwise-media --case 12 --judge ollama:llama3.1:8b",), prints=True,
    ),
    Command(
        "batch export", "Write the outstanding calls of a run as a batch file (JSON lines), split into several files"
        " if needed.\n\nOpenAI's Batch API, “vllm run-batch”, gateways and “recjudge batch run” accept the file.",
        "batches:batch_export", (
            RUN_ID, opt("-o out", "The file to write; - is stdout.", required=True, metavar="FILE", type=FILE_ONLY),
        ), ("batch export 3 -o calls.jsonl",),
    ),
    Command(
        "batch import", "Store the results of a batch from its result and error files.\n\nThe files may be incomplete"
        " and come in any order. Importing a file twice changes nothing.",
        "batches:batch_import", (RUN_ID, arg("files", metavar="FILE...", nargs=-1, required=True, type=FILE_ONLY)), (
            "batch import 3 results.jsonl errors.jsonl",
        ),
    ),
    Command(
        "batch submit", "Send the outstanding calls of a run to its judge's provider as a batch. No call is sent"
        " twice.\n\nWorks for openai:MODEL (the files and batches endpoints at its base URL) and anthropic:MODEL. You"
        " may close the terminal. “recjudge batch collect ID” stores the answers when they are ready, usually within"
        " 24 hours.",
        "batches:batch_submit", (RUN_ID, trust_option), ("batch submit 3",),
    ),
    Command(
        "batch status", "Show the progress of a run's batches at the provider.",
        "batches:batch_status", (RUN_ID, trust_option), ("batch status 3",), prints=True,
    ),
    Command(
        "batch collect", "Store the answers of finished batches. You can repeat this at any time.",
        "batches:batch_collect", (
            RUN_ID,
            flag("--give-up", "Stop waiting, so that unanswered calls can be asked again. Then cancel the batch at"
                " the provider."),
            trust_option,
        ), ("batch collect 3",),
    ),
    Command(
        "batch run", "Send every line of a batch file to your own servers and write the results. Needs no"
        " database.\n\nIf it is interrupted, repeat the same command to continue.",
        "batches:batch_run", (
            arg("source", metavar="FILE", type=FILE_ONLY),
            opt("-o out", "Result lines are appended to it. With stdout (-), they come at the end, and the command"
                " cannot be continued.", required=True, metavar="FILE", type=FILE_ONLY),
            address_options,
            opt("--concurrency", "Calls at once over all servers.  [default: 8 per server]",
                type=click.IntRange(1, 4096), metavar="N"),
            opt("--timeout timeout_s", "Timeout of each attempt, in seconds.", type=POSITIVE, default=600.0,
                show_default=True, metavar="S"),
            opt("--ray", "Spread the file over a Ray cluster. Default address: RAY_ADDRESS, else a Ray started on"
                " this machine.", is_flag=False, flag_value="local", metavar="[ADDRESS]"),
        ), (
            "batch run calls.jsonl -o results.jsonl --base-url http://gpu1:8000/v1 --base-url http://gpu2:8000/v1",
            "batch run calls.jsonl -o results.jsonl --base-url http://127.0.0.1:8000/v1 --ray head:6379",
        ), needs="",
    ),
    Command(
        "run", _RUN_HELP,
        "running:run", (
            arg("protocol", type=ProtocolChoice(SAER_NAME, file=EXPERIMENT)),
            opt("--judge spec", "rules, random, replay:FILE, ollama:, openai:, anthropic:, bedrock:MODEL. Default:"
                " the judge under [run] in the settings file (recjudge config path).", metavar="SPEC"),
            address_options,
            opt("--name rater", "The rater's name. Default: the judge's.", metavar="RATER", default=""),
            opt("--prompt", "The prompt to use. Default: the protocol's own for this kind of data.",
                metavar="NAME[@VERSION]", default=""),
            setting_options(), flag("--dry-run", "Print the estimate and stop."),
            opt("--save", "Write this run to a file and stop.", metavar="FILE.toml", type=PATH),
            flag("--plan-only", "Store the plan and stop, for “recjudge batch” or “recjudge runs resume”."),
            flag("--detach", "Run in the background; “recjudge runs show ID” shows progress."),
            opt("--drop-poor-over", "saer: do not compare systems in pairs if more than this share of their lists is"
                " rated Poor (0.5: half). The authors of SAER warn against this. Default: every system is compared.",
                type=FiniteRange(0, 1), metavar="X"),
            HUMAN_PRICE, table_options,
        ), (
            "run pairwise -p movies --judge rules",
            "run saer -p movies --judge rules --systems als,pop",
            "run pointwise -p movies --judge ollama:llama3.1:8b --sample 200",
            "run pairwise -p movies --judge openai:gpt-4o --until decided --margin 0.1",
            "run arena -p movies --judge openai:gpt-4o --baseline popularity --profile llm",
            "run explanation -p movies --judge ollama:qwen2.5:14b --shots personal",
            "run arena -p movies --judge openai:gpt-4o --baseline popularity --as-published --dry-run",
            "run experiment.toml -p movies",
        ), needs="project",
        # the 15 options that most runs need are left
        rare=(
            "api_key_env", "header_env", "trust_hosts", "plan_only", "save", "drop_poor_over", "human_price", "db",
            "fmt", "out", "columns", "plain", "notes", "explain", "all",
        ),
    ),
    Command(
        "runs list", "List all runs with their cost, newest first.",
        "records:runs_list", (
            opt("-p --project", "Only this project's runs.", metavar="PROJECT", envvar=PROJECT_VARIABLE),
        ), ("runs list -p movies",), prints=True,
    ),
    Command(
        "runs show", "Show one run: its settings, counts and latest errors.",
        "records:runs_show", (
            RUN_ID, opt("-p --project", "The project of the run, whose id is enough.", metavar="PROJECT"),
        ), ("runs show 3",), prints=True,
    ),
    Command(
        "runs resume", "Resume a run that was stopped, paused, interrupted or killed. Answered calls are not"
        " repeated.",
        "running:runs_resume", (RUN_ID, *CHANGES, DETACH, trust_option), (
            "runs resume 3",
            "runs resume 3 --budget 20",
        ),
    ),
    Command(
        "runs retry", "Ask the failed calls of a run again.",
        "running:runs_retry", (RUN_ID, *CHANGES, DETACH, trust_option), (
            "runs retry 3",
            "runs retry 3 --max-tokens 4096 --timeout 300",
        ),
    ),
    Command(
        "runs work-group", "Work through the stages of a SAER run and print its page. “recjudge run saer --detach”"
        " starts this command.",
        "running:runs_work_group", (
            arg("group_id", metavar="GROUP", type=int), trust_option, HUMAN_PRICE, table_options,
        ), ("runs work-group 1",), hidden=True,
    ),
    Command(
        "runs stop", "Stop a run: let the calls in flight finish, and wait for them.",
        "records:runs_stop", (RUN_ID, flag("--pause", "Mark it as paused instead of stopped.")), ("runs stop 3",),
    ),
    Command(
        "runs take-over", "Release a run that a process on another machine holds and will not finish.",
        "records:runs_take_over", (RUN_ID,), ("runs take-over 3",),
    ),
    Command(
        "runs concurrency", "Set how many calls a run makes at once. An active run follows within a second.\n\nNo"
        " call is dropped or repeated. The new number also applies when the run is resumed.",
        "records:runs_concurrency", (RUN_ID, arg("calls", metavar="N", type=click.IntRange(1, 1024))), (
            "runs concurrency 3 16",
        ),
    ),
    Command(
        "runs rename", "Give a run a name of your own, shown beside its number. An empty NAME removes it.",
        "records:runs_rename", (RUN_ID, arg("name", metavar="NAME")), ('runs rename 3 "before the new prompt"',),
    ),
    Command(
        "runs delete", "Delete a run with its calls, answers and verdicts.",
        "records:runs_delete", (RUN_ID, YES), ("runs delete 3 --yes",),
    ),
    *(
        Command(f"robustness {test}", "", "running:judged_first", options)
        for test, options in {
            "position": _RUN,
            "adversarial": (*_RUN, *_NAMED),
            "ablation": (
                *_RUN,
                opt("--prompts", "generic: the history and which list is better; overspecified: a rubric of five criteria;"
                    " saer; or prompts by name.", metavar="A,B,...", default="generic,overspecified,saer",
                    show_default=True),
            ),
            "injected": (
                *_RUN, *_NAMED,
                opt("--floor/--no-floor", "With --judge: let the built-in rules judge the same lists, as a baseline"
                    " (default), or not.", default=True),
            ),
        }.items()
    ),
    Command(
        "why", "", "judging:themes_first", (
            opt("--judge spec", "Let this judge find the themes of the reasons first, and say which reason uses which.",
                metavar="SPEC"),
            address_options,
            flag("--dry-run", "With --judge: print what finding the themes takes, and stop."),
            setting_options("budget_usd", budget_usd="Stop before all calls together cost more than this."),
        ),
    ),
    Command(
        "verdicts decide", "Accept, dismiss, override, note or tag one verdict, like the keys c x v w t of the"
        " app.\n\nAn override makes you a rater. Your name comes from `recjudge config` or RECJUDGE_READER.",
        "records:verdicts_decide", (
            arg("verdict_id", metavar="ID", type=int),
            arg("action", type=click.Choice(("accept", "dismiss", "override", "note", "tag"))),
            opt("--to label", "The label or number to use instead.", metavar="LABEL"),
            opt("--text", "The text of a note or tag.", default="", metavar="TEXT"),
        ), ("verdicts decide 812 override --to Tie",),
    ),
    Command(
        "verdicts undo", "Undo your last action on a verdict of the project.",
        "records:verdicts_undo", (), ("verdicts undo -p movies",), needs="project",
    ),
    Command(
        "rater delete", "Delete a rater with its runs and verdicts.",
        "records:rater_delete", (NAME, YES), ("rater delete old-judge -p movies --yes",), needs="project",
    ),
    Command(
        "rater rename", "Rename a rater. Its verdicts and runs, and the raters made from it, keep belonging to it.",
        "records:rater_rename", (NAME, arg("new_name", metavar="NEW_NAME")), (
            "rater rename gpt-4o gpt-4o-temperature-0 -p movies",
        ), needs="project",
    ),
    Command(
        "rater kind", "Set what an imported rater is: a person, the users themselves, or a language model.\n\nA file"
        " of labels can say so in a column rater_kind. If it does not, a name such as gpt-4o means a judge.",
        "records:rater_kind", (NAME, arg("kind", type=click.Choice(IMPORTED))), (
            "rater kind judge-anna annotator -p movies",
        ), needs="project",
    ),
    Command(
        "rater combine", "Combine raters into one, or update it. Without RATER: all annotators.\n\nRaters are"
        " combined on aspects that they answered on the same scale. People make a consensus, which can be the truth"
        " of a report; others an ensemble. A case with fewer votes than --quorum gets no verdict; failed verdicts do"
        " not count as votes. The output counts the cases left out and those decided without every rater. “recjudge"
        " cost --truth” shows which ensemble is worth its cost.",
        "people:rater_combine", (
            NAME, arg("raters", nargs=-1, metavar="[RATER...]"),
            opt("--rule", "strict: the harsher label (single lists); conservative: any disagreement is a tie (pairs);"
                " majority: the label of more than half of those who voted, a split vote gives no verdict; mean: the"
                " mean of the values; median: the middle vote, between two labels with names the harsher;"
                " dawid-skene: the most likely label, each rater weighted by its estimated accuracy (Dawid and Skene,"
                " 1979).", type=click.Choice(["strict", "conservative", "majority", "mean", "median", "dawid-skene"]),
                required=True),
            opt("--quorum", "How many raters must have judged a case. Default: all; of dawid-skene 1.", type=int,
                metavar="N"),
        ), (
            "rater combine people --rule strict anna ben -p movies",
            "rater combine crowd --rule median --quorum 3 -p movies",
            "rater combine jury --rule dawid-skene qwen llama rules -p movies",
        ), needs="project",
    ),
    Command(
        "rater metric", "Make a rater from each metric, or update it.\n\nTexts are compared with what the user wrote:"
        " bleu-1, bleu-4, rouge-1 and rouge-l (both as F1). Lists have auc, ndcg, ndcg_exp, ndcg_explicit, precision,"
        " recall, map, map_min, mrr, hit_rate, err, rprec, urd, ild, novelty, popularity, title_ild, near_duplicates"
        " and category_coverage; of two lists, the one with the higher value wins. The rater of a list metric has K"
        " in its name, as in ndcg@10. Cases for which a metric is undefined get no verdict and are counted.",
        "people:rater_metric", (
            arg("names", nargs=-1, metavar="NAME..."),
            opt("--k", "Use the first K items of a list; auc uses all candidates.", type=click.IntRange(min=1),
                default=TOP_K, show_default=True),
            opt("--tokens", "How texts are split into words. auto: at spaces, Chinese with jieba, other scripts"
                " without spaces by character.", type=click.Choice(["auto", "words", "jieba", "characters"]),
                default="auto", show_default=True),
        ), (
            "rater metric bleu-4 rouge-l -p movies",
            "rater metric ndcg urd --k 5 -p movies",
            "rater metric rouge-l --tokens characters -p movies",
        ), needs="project",
    ),
    Command(
        "annotate plan", "Assign cases to annotators evenly. Earlier assignments stay.\n\nThe same seed gives the"
        " same plan. Which list comes first is drawn once for each person and case. A person judges a case under one"
        " protocol only.",
        "people:annotate_plan", (
            opt("--protocol", "What the annotators judge; adversarial: a user's own list against one made for"
                " somebody else.", type=ProtocolChoice(ADVERSARIAL), required=True),
            opt("--annotators", "Annotator names.", required=True, metavar="ANA,BEN,..."),
            opt("--prompt", "The prompt with the guidelines. Default: the prompt of the protocol's newest run.", default="",
                metavar="NAME[@VERSION]"),
            opt("--sample", "Only N cases: one per user first, and first those that a judge has judged.",
                type=click.IntRange(1), metavar="N"),
            opt("--per-case", "Annotators per case. Default: 2.", type=click.IntRange(1), metavar="K"),
            opt("--overlap", "All annotators judge this share of the cases. Each of the other cases goes to one"
                " annotator.", type=FiniteRange(0, 1), metavar="SHARE"),
            DRAWN.but(help="Seed for drawing cases, annotators and orders.", default=SEED),
            SYSTEMS.but(help="Only lists or texts of these systems."),
            opt("--stratify", "Draw the sample's users evenly from 4 levels of activity.", default="none",
                type=click.Choice(("none", "activity")), show_default=True),
        ), (
            "annotate plan -p movies --protocol pairwise --annotators ana,ben --sample 80",
            "annotate plan -p movies --protocol explanation --annotators ana,ben,cy --overlap 0.3",
            "annotate plan -p movies --protocol adversarial --annotators ana,ben --sample 30 --stratify activity",
        ), needs="project",
    ),
    Command(
        "annotate status", "Show each annotator's progress, the time per case, and the agreement on shared"
        " cases.\n\nThe time runs from when the case is shown until the verdict, without pauses of more than two"
        " minutes.",
        "people:annotate_status", (), ("annotate status -p movies",), needs="project", prints=True,
    ),
    Command(
        "annotate open", "Judge your cases in the app, which shows nothing else.",
        "people:annotate_open", (
            opt("--as annotator", "Who judges.", required=True, metavar="NAME"),
            opt("--protocol", "Required if the person has tasks of several protocols.", type=ProtocolChoice()),
        ), ("annotate open -p movies --as ana",), needs="project",
    ),
    Command(
        "annotate export", "Export an annotator's open tasks, to be judged in a spreadsheet or a labelling"
        " tool.\n\nAs in the app, the names of systems are hidden, and lists come in the order of the assignment. A"
        " second file next to FILE has the guidelines (csv), the labelling interface (label-studio) or the settings"
        " (argilla). “recjudge import --as labels” reads the answers (recjudge docs annotating).",
        "people:annotate_export", (
            opt("--as annotator", "Whose open tasks to export.", required=True, metavar="NAME"),
            opt("--protocol", "Required if the person has tasks of several.", type=ProtocolChoice()),
            opt("--format fmt", "csv: a sheet with a row for each question. The others: tasks in the tool's own"
                " format.", type=click.Choice(("csv", "label-studio", "argilla")), default="csv", show_default=True),
            output_option(),
        ), (
            "annotate export -p movies --as ana -o ana.csv",
            "annotate export -p movies --as ana --format label-studio -o ana.json",
        ), needs="project",
    ),
    Command(
        "annotate adjudicate", "Settle disagreements between annotators: all at once by a rule, or one by one by a"
        " third person.\n\nThe consensus also contains the verdicts on which two or more annotators agree. The third"
        " person does not see who gave which answer, and can stop and continue later.",
        "people:annotate_adjudicate", (
            opt("--protocol", "What the annotators judge.", type=ProtocolChoice(), required=True),
            opt("--rule", "strict: the harsher label (lists, texts); conservative: any disagreement is a tie (pairs)."
                " Without a rule, a third person decides in the app.", type=click.Choice(["strict", "conservative"])),
            opt("--name", "The consensus rater.", default="adjudicated", show_default=True, metavar="NAME"),
        ), (
            "annotate adjudicate -p movies --protocol pairwise --rule conservative --name people",
            "annotate adjudicate -p movies --protocol pairwise --name cy",
        ), needs="project",
    ),
    Command(
        "outcome add", "Record the result of a live experiment with two systems, and compare it with the judges'"
        " verdicts.\n\nRates have the exact interval of Clopper and Pearson. The lift, rate A / rate B - 1, has the"
        " log interval of Katz et al. (1978). z and the two-sided p are those of two pooled proportions (Fleiss,"
        " Levin and Paik 2003). All assume independent impressions. A system that is not in the project yet is"
        " accepted with a warning.",
        "results:outcome_add", (
            opt("--systems", "The two systems; the lift is that of A over B.", metavar="A,B", required=True,
                callback=split_names),
            opt("--impressions", "How often each was shown, in the same order.", metavar="N,N", required=True),
            opt("--clicks", "How many of those were clicked, or the rates: 0.619%,0.523%.", metavar="N,N", required=True),
            opt("--from from_", "The day (UTC) or time when it began.", default="", metavar="T"),
            opt("--to", "The day (UTC) or time when it ended.", default="", metavar="T"),
            *(opt(f"--users-{x}", f"How many customers were shown {x.upper()}.", type=click.IntRange(1), metavar="N")
              for x in "ab"),
            opt("--name", "A name not used before in the project. Default: “A vs B”.", metavar="EXPERIMENT"),
        ), (
            "outcome add -p shop --systems new,old --impressions 5000000,5000000 --clicks 30950,26150 --name june",
            ("outcome add -p shop --systems new,old --impressions 5e6,5e6 --clicks 0.619%,0.523% --from 2025-06-01"
             "\n    --to 2025-06-28 --users-a 410000 --users-b 408000"),
        ), needs="project", prints=True,
    ),
    Command(
        "outcome delete", "Delete an experiment that was recorded by mistake.",
        "records:outcome_delete", (NAME,), ("outcome delete june -p shop",), needs="project",
    ),
    Command(
        "methods", "Write the methods paragraphs of a paper.\n\nThey state the judges with their served models and"
        " dates, the prompts with version and hash, what was shown and how replies were sampled, cases, users and"
        " occasions, failures and how they count, the people, and the statistics with their settings. Works are cited"
        " in the form of the format: Pandoc's in md, natbib's in latex. JSON, CSV and HTML also have a table of the"
        " runs.",
        "results:methods", (
            SHOWN_RATERS,
            opt("--statistics", "Also define these, such as bt, alpha_ordinal or recall; all: every one that this"
                " project's data allow.", metavar="NAME,...", callback=split_names),
            flag("--bibtex", "Only the works cited, for a .bib file."),
        ), (
            "methods -p movies",
            "methods -p movies --raters qwen,anna,ben -o methods.tex",
            "methods -p movies --statistics bt,alpha_ordinal",
            "methods -p movies --bibtex -o references.bib",
        ), needs="project", prints=True,
    ),
    Command(
        "report", "Write a project report as one HTML file.\n\nIt contains settings and versions, leaderboards,"
        " agreement with people, shares of labels, position bias, failures, cost, pictures and prompts. The file"
        " loads no other file, runs no scripts, and prints well. Pictures need the extra “figures” (pip install"
        " 'recjudge[figures]'); without it, the report says so. --systems is for leaderboards, agreement, shares of"
        " labels, flags and pictures; --raters is for these and position bias.",
        "results:report", (
            output_option("FILE.html", required=True),
            opt("--section sections", "Only this section; repeatable. Default: all.", multiple=True,
                type=click.Choice(HTML_SECTIONS)),
            SYSTEMS, SHOWN_RATERS,
        ), (
            "report -p movies -o movies.html",
            "report -p movies --raters qwen,anna,ben -o qwen.html",
            "report -p movies --section leaderboards --section agreement -o boards.html",
        ), needs="project",
    ),
    Command(
        "reproduce", "Show a paper's tables, as published and recomputed. PAPER is saer, arena or zhang2024.\n\nEach"
        " table is laid out as in the paper. A row whose figures were all recomputed and agree stands once (both),"
        " any other as published and as recomputed. saer and arena are recomputed from the printed figures, zhang2024"
        " from the released data, given with --data or imported into the project. With -p or --rater your own raters"
        " stand in the same tables, and the paper's figures are made for them. With --judge all runs that the paper's"
        " tables need and the project can feed are planned, estimated, asked for once, and resumed where they"
        " stopped; what it cannot feed is named. JSON and CSV have one row per figure, with the reason where it does"
        " not follow.",
        "results:reproduce", (
            arg("paper", type=click.Choice(PAPERS), metavar="PAPER"),
            opt("--data", "The folder of the paper's released data (zhang2024).", type=PATH, metavar="DIR"),
            opt("-p --project", "Show this project's raters in the paper's tables. Default: the one that has --rater.",
                metavar="PROJECT"),
            RATERS.but(
                help="Only these raters of the project. Default with -p: all that judge.", flag="--rater", metavar="R,...",
            ),
            opt("--baseline", "The system of the project that replaces FM, the baseline (arena).", default="",
                metavar="SYSTEM"),
            K.but(help="Cutoff of the project's offline metrics (arena)."),
            flag("--check", "Exit with code 3 if a recomputed figure differs, but for the faults that are known."),
            opt("--figure", "Draw this figure of the paper, such as 5, with the project's raters to the FILE (.svg, .png"
                " or .pdf).", metavar="NAME"),
            opt("--judge spec", "Run the paper's whole experiment with this judge first.", metavar="SPEC"),
            address_options, setting_options("sample", "budget_usd"),
            flag("--dry-run", "With --judge: print the estimate and stop."),
            flag("--yes", "With --judge: do not ask before it starts."), db_option, table_options,
        ), (
            "reproduce saer",
            "reproduce arena -p movies --rater gpt,qwen --baseline popular --k 10",
            "reproduce zhang2024 --data LLMasEvaluator/data --format csv -o zhang.csv",
            "reproduce zhang2024 -p zhang --rater qwen --check",
            "reproduce arena -p movies --rater gpt --figure 5 -o figure.pdf",
            "reproduce saer -p movies --judge ollama:llama3.1:8b --sample 50",
        ), needs="",
    ),
    Command(
        "demo", "Judge the sample data, then open the app.\n\nThe data is synthetic and the judge is built in. The"
        " results are printed first.\n\nCreates the projects synthetic-shop and synthetic-films. If you run it again,"
        " nothing is judged twice. The built-in judge “rules” is not a language model; it is the published list"
        " guidelines written as code.",
        "demo:demo", (
            opt("--judge spec", "Ask this model about a few pairs too, such as gguf:FILE.", metavar="SPEC"),
            flag("--tables", "Print every leaderboard and agreement table."),
            flag("--no-tui", "Only print, even on a terminal."),
        ), ("demo", "demo --judge gguf:model.gguf"),
    ),
    Command(
        "config path", "Print the path of the settings file.",
        "operate:config_path", (), ("config path",), needs="",
    ),
    Command(
        "config show", "Show the settings in effect and where each comes from. Exit 1 if the file has a mistake.",
        "operate:config_show", (), ("config show",), needs="", prints=True,
    ),
    Command(
        "config keys", "List the app's key bindings: ids, keys, and the file to change them in. Exit 1 if that file"
        " has a mistake.",
        "operate:config_keys", (flag("--changed", "Only bindings that the settings file changes."),), ("config keys",),
        needs="", prints=True,
    ),
    Command(
        "doctor", "Check the installation, servers, keys and runs.\n\nAlso the database, the terminal, extras and"
        " abandoned runs. Exit 1 on a problem.\n\nWith -p, list the texts in a project's data that try to give a"
        " judge instructions, close a frame, look like template syntax, hide characters or are very long, and how"
        " many cases show each. Nothing is changed.",
        "operate:doctor", (
            opt("-p --project", "Check the texts of this project instead.", metavar="PROJECT"),
            opt("--limit", "With -p: print at most N findings.", type=click.IntRange(min=1), default=1000,
                show_default=True, metavar="N"),
            db_option,
        ), ("doctor", "doctor -p movies --format csv -o texts.csv"), needs="", prints=True,
    ),
    Command(
        "db backup", "Copy the database to a new file; safe while runs are active.",
        "operate:db_backup", (FILE,), ("db backup monday.db",),
    ),
    Command(
        "docs", "Read a page of the documentation, or list the pages.",
        "docs:docs", (arg("name", metavar="[PAGE]", required=False),), ("docs", "docs servers"), needs="",
    ),
)  # fmt: skip
COMMANDS: dict[str, Command] = {command.name: command for command in _DECLARED}
