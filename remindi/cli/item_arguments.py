"""Arguments of the commands on items: ``add list show check complete snooze update cancel history``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from remindi.cli.durations import HOW_TO_SAY as A_DURATION
from remindi.cli.parser import Parser, Subparsers, count, duration
from remindi.cli.service_arguments import ItemArguments, add_service_options
from remindi.cli.times import HOW_TO_SAY as A_TIME
from remindi.events import EVENT_WORDS, LIFECYCLE_WORDS
from remindi.evidence import EVIDENCE_WORDS
from remindi.items import PRIORITY_WORDS, STATE_WORDS
from remindi.links import LINK_WORDS
from remindi.recurrence import POLICY_WORDS
from remindi.triggers import TRIGGER_WORDS

DEFAULT_LIMIT: Final = 50
TOKEN_VARIABLE: Final = "REMINDI_MCP_TOKEN"
_TIMES: Final = f"TIME is {A_TIME}. DURATION is {A_DURATION}."
_TEXT: Final = "TEXT, @FILE or - for standard input"


@dataclass(frozen=True, kw_only=True)
class TriggerArguments(ItemArguments):
    """When an item becomes due: at most one of the first seven is given, and what belongs to it."""

    at: str | None
    after: int | None
    """Seconds."""
    every: int | None
    """Seconds."""
    next_session: bool
    next_continuation: bool
    goal: str | None
    condition: str | None
    first: str | None
    policy: str | None
    times: int | None
    until: str | None
    params: list[str]
    poll: int | None
    """Seconds."""
    manual_check: str | None
    message: str | None
    instructions: str | None
    priority: str | None
    grace: int | None
    """Seconds."""
    links: list[str] | None
    key: str | None


@dataclass(frozen=True, kw_only=True)
class AddArguments(TriggerArguments):
    """``remindi add MESSAGE``."""

    project: str
    task: str | None
    session: str | None
    lineage: str | None


@dataclass(frozen=True, kw_only=True)
class PageArguments(ItemArguments):
    """How much is shown."""

    limit: int
    everything: bool


@dataclass(frozen=True, kw_only=True)
class ListArguments(PageArguments):
    """``remindi list``."""

    project: str | None
    task: str | None
    states: list[str]
    triggers: list[str]
    linked_goal: str | None
    linked_memory: str | None


@dataclass(frozen=True, kw_only=True)
class CheckArguments(PageArguments):
    """``remindi check``."""

    project: str
    task: str | None
    session: str | None
    lineage: str | None
    event: str
    goals: list[str]
    scheduled: bool
    probe: bool


@dataclass(frozen=True, kw_only=True)
class ShowArguments(ItemArguments):
    """``remindi show ID``."""

    item: str
    project: str | None


@dataclass(frozen=True, kw_only=True)
class HistoryArguments(PageArguments):
    """``remindi history ID``."""

    item: str
    project: str | None
    events: list[str]


@dataclass(frozen=True, kw_only=True)
class ChangeArguments(ItemArguments):
    """What the changes of one item have in common."""

    item: str
    project: str | None
    version: int | None
    """The version that was seen; null: whatever it is at."""
    key: str | None


@dataclass(frozen=True, kw_only=True)
class CompleteArguments(ChangeArguments):
    """``remindi complete ID``."""

    evidence_type: str
    summary: str
    uri: str | None
    content_hash: str | None
    hash_of: Path | None
    observed: str
    note: str | None
    metadata: str | None


@dataclass(frozen=True, kw_only=True)
class SnoozeArguments(ChangeArguments):
    """``remindi snooze ID``."""

    until: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class CancelArguments(ChangeArguments):
    """``remindi cancel ID``."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class UpdateArguments(ChangeArguments, TriggerArguments):
    """``remindi update ID``."""

    reason: str
    no_instructions: bool
    no_recurrence: bool
    no_links: bool
    disposition: str | None


def add_item_commands(commands: "Subparsers[Parser]", helps: dict[str, str]) -> None:
    """Add the parsers of the commands on items."""
    made: list[Parser] = []

    def command(name: str, kind: type[ItemArguments], *parents: Parser) -> Parser:
        parser = commands.add_parser(
            name,
            description=f"{helps[name][0].upper()}{helps[name][1:]}.",
            epilog=_TIMES,
            parents=parents,
        )
        parser.set_defaults(kind=kind)
        made.append(parser)
        return parser

    one, page = _one_item(), _pages()
    change = _change()
    _add(command("add", AddArguments))
    _list(command("list", ListArguments, page))
    command("show", ShowArguments, one)
    _check(command("check", CheckArguments, page))
    _complete(command("complete", CompleteArguments, one, change))
    snooze = command("snooze", SnoozeArguments, one, change)
    snooze.add_argument("--until", required=True, metavar="TIME", help="when it comes back")
    _reason(snooze)
    _update(command("update", UpdateArguments, one, change))
    _reason(command("cancel", CancelArguments, one, change))
    history = command("history", HistoryArguments, one, page)
    history.add_argument(
        "--event",
        dest="events",
        action="append",
        default=[],
        choices=EVENT_WORDS,
        metavar="EVENT",
        help=f"only these; may be repeated: {', '.join(EVENT_WORDS)}",
    )
    for parser in made:
        add_service_options(parser, TOKEN_VARIABLE)


# ------------------------------------------------------------------ in common


def _one_item() -> Parser:
    parser = Parser(add_help=False)
    parser.add_argument(
        "item", metavar="ID", help="the id, or its last 4 to 12 characters where no other ends so"
    )
    parser.add_argument("--project", metavar="P", help="where an id that is not whole is looked for")
    return parser


def _pages() -> Parser:
    parser = Parser(add_help=False)
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--limit",
        type=count,
        default=DEFAULT_LIMIT,
        metavar="N",
        help="at most so many (default: %(default)s)",
    )
    group.add_argument("--all", dest="everything", action="store_true", help="all there are")
    return parser


def _change() -> Parser:
    parser = Parser(add_help=False)
    parser.add_argument(
        "--version",
        type=count,
        metavar="N",
        help="refuse when it is at another version by now (default: the one it is at)",
    )
    _key(parser)
    return parser


def _key(parser: Parser) -> None:
    parser.add_argument(
        "--key",
        metavar="KEY",
        help="idempotency key: the same request under the same key is done once; a time that counts from now"
        " makes another request each time, so give an absolute one (default: a new key)",
    )


def _reason(parser: Parser) -> None:
    parser.add_argument("--reason", required=True, metavar="TEXT", help="why")


def _scope(parser: Parser, *, required: bool) -> None:
    parser.add_argument("--project", required=required, metavar="P", help="its project")
    parser.add_argument("--task", metavar="T", help="its task within the project")


def _session(parser: Parser) -> None:
    parser.add_argument("--session", metavar="S", help="id of the present session")
    parser.add_argument("--lineage", metavar="L", help="id that the sessions of a task have in common")


# ------------------------------------------------------------------ commands


def _add(parser: Parser) -> None:
    parser.add_argument("message", metavar="MESSAGE", help="what has to be done, clear to a reader of later")
    _scope(parser, required=True)
    _trigger(parser, required=True)
    _content(parser, " (default: normal)", " (default: the setting remindi.default_overdue_seconds)")
    _session(parser)
    _key(parser)


def _update(parser: Parser) -> None:
    _reason(parser)
    parser.add_argument("--message", metavar="TEXT", help="what has to be done")
    _trigger(parser, required=False)
    _content(parser)
    parser.add_argument("--no-instructions", action="store_true", help="take the instructions away")
    parser.add_argument("--no-recurrence", action="store_true", help="let it repeat no more")
    parser.add_argument("--no-links", action="store_true", help="take all links away")
    disposition = parser.add_mutually_exclusive_group()
    disposition.add_argument(
        "--acknowledge",
        dest="disposition",
        action="store_const",
        const="acknowledged",
        help="the present occurrence is done: go on to the next",
    )
    disposition.add_argument(
        "--skip",
        dest="disposition",
        action="store_const",
        const="skipped",
        help="the present occurrence is left out: go on to the next",
    )


def _trigger(parser: Parser, *, required: bool) -> None:
    group = parser.add_argument_group("when it becomes due, one of")
    one = group.add_mutually_exclusive_group(required=required)
    one.add_argument("--at", metavar="TIME", help="at that time")
    one.add_argument("--after", type=duration, metavar="DURATION", help="so long after it is stored")
    one.add_argument("--every", type=duration, metavar="DURATION", help="again and again")
    one.add_argument("--next-session", action="store_true", help="at a check from another session")
    one.add_argument(
        "--next-continuation",
        action="store_true",
        help="at a continuation check from another session of the same lineage (of --lineage)"
        if required
        else "at a continuation check from another session of its lineage",
    )
    one.add_argument("--goal", metavar="G", help="at a check that names this goal; links it too")
    one.add_argument("--condition", metavar="ADAPTER", help="when this adapter sees that it holds")
    group = parser.add_argument_group("with --every")
    group.add_argument("--first", metavar="TIME", help="the first time (default: one DURATION from now)")
    group.add_argument(
        "--policy", choices=POLICY_WORDS, help="what becomes of missed ones (default: coalesce)"
    )
    group.add_argument("--times", type=count, metavar="N", help="number of the last occurrence")
    group.add_argument("--until", metavar="TIME", help="no occurrence after that")
    group = parser.add_argument_group("with --condition")
    group.add_argument(
        "--param",
        dest="params",
        action="append",
        default=[],
        metavar="NAME=TEXT",
        help="a parameter; NAME:=JSON for numbers; may be repeated",
    )
    group.add_argument("--poll", type=duration, metavar="DURATION", help="between two probes (default: 30s)")
    group.add_argument(
        "--manual-check", metavar="TIME", help="come back then to be looked at by hand, if it has not held"
    )


def _content(parser: Parser, no_priority: str = "", no_grace: str = "") -> None:
    parser.add_argument("--priority", choices=PRIORITY_WORDS, help=f"how pressing it is{no_priority}")
    parser.add_argument("--grace", type=duration, metavar="DURATION", help=f"from due to overdue{no_grace}")
    parser.add_argument("--instructions", metavar="TEXT", help=f"how to go about it: {_TEXT}")
    parser.add_argument(
        "--link",
        dest="links",
        action="append",
        metavar="TYPE:VALUE",
        help=f"what it is about; TYPE is {', '.join(LINK_WORDS)}; may be repeated",
    )


def _list(parser: Parser) -> None:
    _scope(parser, required=False)
    parser.add_argument(
        "--state",
        dest="states",
        action="append",
        default=[],
        choices=(*STATE_WORDS, "active"),
        metavar="STATE",
        help=f"only these; may be repeated: {', '.join(STATE_WORDS)}; active is the first four",
    )
    parser.add_argument(
        "--trigger",
        dest="triggers",
        action="append",
        default=[],
        choices=TRIGGER_WORDS,
        metavar="TYPE",
        help=f"only these; may be repeated: {', '.join(TRIGGER_WORDS)}",
    )
    parser.add_argument("--linked-goal", metavar="G", help="only items linked to this goal")
    parser.add_argument("--linked-memory", metavar="HASH", help="only items linked to this memory")


def _check(parser: Parser) -> None:
    _scope(parser, required=True)
    _session(parser)
    parser.add_argument(
        "--event",
        default="checkpoint",
        choices=LIFECYCLE_WORDS,
        help="what the check belongs to (default: %(default)s)",
    )
    parser.add_argument(
        "--goal",
        dest="goals",
        action="append",
        default=[],
        metavar="G",
        help="an active goal; may be repeated",
    )
    parser.add_argument("--scheduled", action="store_true", help="also what is not ready yet")
    parser.add_argument("--no-probe", dest="probe", action="store_false", help="do not look at conditions")


def _complete(parser: Parser) -> None:
    parser.add_argument(
        "--evidence-type",
        required=True,
        choices=EVIDENCE_WORDS,
        metavar="TYPE",
        help=f"one of {', '.join(EVIDENCE_WORDS)}",
    )
    parser.add_argument(
        "--summary", required=True, metavar="TEXT", help="what was seen; 'done' is not enough"
    )
    parser.add_argument("--uri", metavar="URI", help="where it can be looked up")
    by = parser.add_mutually_exclusive_group()
    by.add_argument("--hash", dest="content_hash", metavar="SHA256", help="of what it can be told by")
    by.add_argument("--hash-of", type=Path, metavar="FILE", help="the same, taken of a file")
    parser.add_argument("--observed", default="now", metavar="TIME", help="when it was seen (default: now)")
    parser.add_argument("--note", metavar="TEXT", help="a remark")
    parser.add_argument("--metadata", metavar="JSON", help="an object of your own: JSON, @FILE or -")
