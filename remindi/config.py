"""Configuration: the environment variables of contract 17.2 as one table, and their reading into a value.

Nothing here reads the environment: the composition root hands it in. Faults name variables and rules, never
values.
"""

import difflib
import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeVar

from remindi import logfilter
from remindi.authorities import Origin, parse_authority, parse_origin
from remindi.logfilter import LogFilter

T = TypeVar("T")
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Exposure = Literal["clear", "configured", "never"]

PREFIX: Final = "REMINDI_"
MIN_TOKEN_CHARACTERS: Final = 16
MAX_SESSION_TTL_SECONDS: Final = 31_536_000
SET: Final = "set"
"""Stands in ``Config.given`` for a text that is nobody's business."""
_MAX_NAMED_UNKNOWN: Final = 20
_VISIBLE: Final = re.compile(r"[\x21-\x7e]+")
_NUMBER: Final = re.compile(r"[0-9]{1,10}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What the process was started with. Secrets stay out of its ``repr``."""

    owner_id: str
    mcp_token: str = field(repr=False)
    db_path: str = "/data/remindi.db"
    backup_dir: str = "/data/backups"
    allowed_hosts: frozenset[str] = frozenset()
    """Authorities in normal form; empty: every well-formed Host (contract 10.1)."""
    allowed_origins: frozenset[Origin] = frozenset()
    """Empty: the origin's authority must equal Host (contract 10.1)."""
    trusted_proxies: tuple[Network, ...] = ()
    log_filter: LogFilter = logfilter.DEFAULT
    log_content: bool = False
    webui_enable: bool = True
    webui_auth: bool = True
    webui_username: str | None = field(default=None, repr=False)
    webui_password: str | None = field(default=None, repr=False)
    webui_session_ttl_seconds: int = 43_200
    webui_cookie_secure: bool = False
    webui_title: str = "Remindi"
    webui_custom_css_file: str | None = None
    webui_logo_file: str | None = None
    webui_favicon_file: str | None = None
    given: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """The variables that were set; with their text where it may be shown in clear, else with a mark."""


class Variable(NamedTuple):
    """One row of contract 17.2, for the reading, the documentation and the settings page alike."""

    name: str
    default: str
    """As it would stand in the environment; empty: none."""
    rule: str
    """What a value must be; completes "NAME must be ..."."""
    meaning: str
    read: Callable[[str], Any]
    """Makes the value of the text; raises ValueError."""
    exposure: Exposure = "clear"
    """How the settings page shows it: in clear, only that it is set, or not at all (contract 11.9)."""
    required: bool = False
    blank_is_absent: bool = False
    """Whether a value of white space counts as not given."""

    @property
    def attribute(self) -> str:
        """Its field in ``Config``."""
        return _ATTRIBUTES.get(self.name, self.name.removeprefix(PREFIX).lower())


_ATTRIBUTES: Final = {
    "REMINDI_HTTP_ALLOWED_HOSTS": "allowed_hosts",
    "REMINDI_HTTP_ALLOWED_ORIGINS": "allowed_origins",
    "REMINDI_LOG_LEVEL": "log_filter",
}


class Fault(NamedTuple):
    """Why a start is refused: a variable and the rule it breaks."""

    variable: str
    problem: str

    def __str__(self) -> str:
        return f"{self.variable} {self.problem}"


class Loaded(NamedTuple):
    """A configuration that may be started, and what is to be said about it in the log."""

    config: Config
    warnings: tuple[str, ...]


class Rejected(NamedTuple):
    """All faults of a configuration, at least one."""

    faults: tuple[Fault, ...]


def load(environ: Mapping[str, str]) -> Loaded | Rejected:
    """Read the variables of contract 17.2 out of an environment, all faults at once.

    Args:
        environ: names and values; bytes that are no UTF-8 are lone surrogates in it, as in ``os.environ``.
    """
    faults: list[Fault] = []
    values: dict[str, Any] = {}
    given: dict[str, str] = {}
    for row in VARIABLES:
        text = environ.get(row.name)
        if text is not None and not _is_unicode(text):
            faults.append(Fault(row.name, "is not valid UTF-8"))
        elif text is None or (row.blank_is_absent and not text.strip()):
            if row.required:
                faults.append(Fault(row.name, f"is required and must be {row.rule}"))
        else:
            try:
                values[row.attribute] = row.read(text)
                given[row.name] = text if row.exposure == "clear" else SET if text.strip() else ""
            except ValueError:
                faults.append(Fault(row.name, f"must be {row.rule}"))
    faulty = {fault.variable for fault in faults}
    switches = {"REMINDI_WEBUI_ENABLE", "REMINDI_WEBUI_AUTH"}
    if not switches & faulty and values.get("webui_enable", True) and values.get("webui_auth", True):
        faults.extend(
            Fault(row.name, "is required while REMINDI_WEBUI_ENABLE and REMINDI_WEBUI_AUTH are true")
            for row in (_USERNAME, _PASSWORD)
            if row.attribute not in values and row.name not in faulty
        )
    if faults:
        return Rejected(tuple(faults))
    return Loaded(Config(**values, given=MappingProxyType(given)), _unknown_names(environ))


def _unknown_names(environ: Mapping[str, str]) -> tuple[str, ...]:
    """At most one line that names the ``REMINDI_*`` variables nobody reads."""
    unknown = sorted(name for name in environ if name.startswith(PREFIX) and name not in KNOWN_NAMES)
    if not unknown:
        return ()
    named = ", ".join(_with_nearest(name) for name in unknown[:_MAX_NAMED_UNKNOWN])
    more = f" and {len(unknown) - _MAX_NAMED_UNKNOWN} more" if len(unknown) > _MAX_NAMED_UNKNOWN else ""
    return (f"these environment variables are not known and change nothing: {named}{more}",)


def _with_nearest(name: str) -> str:
    # A name may be anything that the environment can hold; it is cut before it is compared and printed.
    shown = name[:80].encode("ascii", "backslashreplace").decode("ascii")
    nearest = difflib.get_close_matches(name[:80], KNOWN_NAMES, n=1)
    return f"{shown} (nearest known: {nearest[0]})" if nearest else shown


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


# ------------------------------------------------------------ values from text


def _text(text: str) -> str:
    return text


def _token(text: str) -> str:
    if len(text) < MIN_TOKEN_CHARACTERS or _VISIBLE.fullmatch(text) is None:
        raise ValueError("too short, or not visible ASCII")
    return text


def _path(text: str) -> str:
    if not PurePosixPath(text).is_absolute():
        raise ValueError("not absolute")
    return text


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("neither true nor false")
    return text == "true"


def _session_ttl(text: str) -> int:
    if _NUMBER.fullmatch(text) is None or not 1 <= int(text) <= MAX_SESSION_TTL_SECONDS:
        raise ValueError("not a number within the bounds")
    return int(text)


def _entries(text: str) -> list[str]:
    return [entry for part in text.split(",") if (entry := part.strip())]


def _hosts(text: str) -> frozenset[str]:
    return frozenset(_parsed(parse_authority(entry)) for entry in _entries(text))


def _origins(text: str) -> frozenset[Origin]:
    return frozenset(_parsed(parse_origin(entry)) for entry in _entries(text))


def _parsed(value: T | None) -> T:
    if value is None:
        raise ValueError("malformed entry")
    return value


def _networks(text: str) -> tuple[Network, ...]:
    # Host bits below the mask are cut: 172.17.0.1/16 is how `ip addr` shows a container bridge's network.
    return tuple(ipaddress.ip_network(entry, strict=False) for entry in _entries(text))


# -------------------------------------------------------------------- the table

_USERNAME: Final = Variable(
    "REMINDI_WEBUI_USERNAME",
    "",
    "any text that is not blank",
    "User name of the WebUI. Required while WebUI and sign-in are on; else optional proof for a restore.",
    _text,
    exposure="never",
    blank_is_absent=True,
)
_PASSWORD: Final = Variable(
    "REMINDI_WEBUI_PASSWORD",
    "",
    "any text that is not blank",
    "Password of the WebUI. Required while WebUI and sign-in are on; else optional proof for a restore.",
    _text,
    exposure="never",
    blank_is_absent=True,
)
_ASSET_RULE: Final = "the absolute path of a regular, readable file that not everybody may write"

VARIABLES: Final = (
    Variable(
        "REMINDI_DB_PATH",
        "/data/remindi.db",
        "an absolute path",
        "The database file. Its directory is the data directory: only one process may use it.",
        _path,
        exposure="configured",
    ),
    Variable(
        "REMINDI_OWNER_ID",
        "",
        "any text that is not blank",
        "The one owner of everything stored. No caller can name another.",
        _text,
        exposure="configured",
        required=True,
        blank_is_absent=True,
    ),
    Variable(
        "REMINDI_MCP_TOKEN",
        "",
        f"at least {MIN_TOKEN_CHARACTERS} visible ASCII characters without a space",
        "Bearer secret of /mcp. A new token makes a new actor and ends old cursors.",
        _token,
        exposure="never",
        required=True,
        blank_is_absent=True,
    ),
    Variable(
        "REMINDI_BACKUP_DIR",
        "/data/backups",
        "an absolute path",
        "Where backups lie.",
        _path,
        exposure="configured",
    ),
    Variable(
        "REMINDI_HTTP_ALLOWED_HOSTS",
        "",
        "a comma list of host or host:port entries, IPv6 in brackets",
        "Host headers that /mcp, WebUI and API admit, exactly as clients send them: the port counts."
        " Empty: every well-formed Host.",
        _hosts,
        exposure="configured",
    ),
    Variable(
        "REMINDI_HTTP_ALLOWED_ORIGINS",
        "",
        "a comma list of http(s)://host or http(s)://host:port entries without a path",
        "Origin headers that /mcp admits. Empty: the authority of Origin must equal Host."
        " Requests without Origin always pass.",
        _origins,
        exposure="configured",
    ),
    Variable(
        "REMINDI_TRUSTED_PROXIES",
        "",
        "a comma list of IP addresses or CIDR blocks",
        "Peers whose X-Forwarded-For names the client.",
        _networks,
        exposure="configured",
    ),
    Variable(
        "REMINDI_LOG_LEVEL",
        "info",
        "off, error, warn, info, debug or trace, or a comma list with target=level entries",
        "Which log lines are written. A target is a logger name with all below it, as in info,mcp=error.",
        logfilter.parse_log_filter,
    ),
    Variable(
        "REMINDI_LOG_CONTENT",
        "false",
        "true or false",
        "true: lines about item events also carry message and reason, cut to 200 characters."
        " false: no item content in any line.",
        _boolean,
    ),
    Variable(
        "REMINDI_WEBUI_ENABLE",
        "true",
        "true or false",
        "false: no WebUI and no /api/v1; /mcp and health work.",
        _boolean,
    ),
    Variable(
        "REMINDI_WEBUI_AUTH",
        "true",
        "true or false",
        "false: the WebUI is open to everybody who reaches it.",
        _boolean,
    ),
    _USERNAME,
    _PASSWORD,
    Variable(
        "REMINDI_WEBUI_SESSION_TTL_SECONDS",
        "43200",
        f"a whole number from 1 to {MAX_SESSION_TTL_SECONDS:,}",
        "How long a sign-in lasts, in seconds.",
        _session_ttl,
    ),
    Variable(
        "REMINDI_WEBUI_COOKIE_SECURE",
        "false",
        "true or false",
        "true: the session cookie is sent over HTTPS only.",
        _boolean,
    ),
    Variable(
        "REMINDI_WEBUI_TITLE",
        "Remindi",
        "any text",
        "Title of the WebUI's page.",
        _text,
        blank_is_absent=True,
    ),
    Variable(
        "REMINDI_WEBUI_CUSTOM_CSS_FILE",
        "",
        _ASSET_RULE,
        "A style sheet that is loaded after the built-in one: UTF-8, at most 262,144 bytes.",
        _path,
        exposure="configured",
        blank_is_absent=True,
    ),
    Variable(
        "REMINDI_WEBUI_LOGO_FILE",
        "",
        _ASSET_RULE,
        "Logo of the WebUI: svg, png, jpg, jpeg, gif or webp, at most 2,097,152 bytes.",
        _path,
        exposure="configured",
        blank_is_absent=True,
    ),
    Variable(
        "REMINDI_WEBUI_FAVICON_FILE",
        "",
        _ASSET_RULE,
        "Icon of the WebUI: as the logo, or ico, at most 524,288 bytes.",
        _path,
        exposure="configured",
        blank_is_absent=True,
    ),
)
"""In the order of contract 17.2."""

COMPOSE_ONLY: Final = {"REMINDI_WEBUI_HOST": "127.0.0.1", "REMINDI_WEBUI_PORT": "8000"}
"""Read by the Compose file alone, with its defaults: known here so that nobody is warned of them."""

CLIENT_ONLY: Final = {"REMINDI_URL": "http://127.0.0.1:8000"}
"""Read by the commands that speak to a running service alone, with its default."""

KNOWN_NAMES: Final = frozenset(row.name for row in VARIABLES) | COMPOSE_ONLY.keys() | CLIENT_ONLY.keys()
