"""Policies: what a responder asks of a request before it is run, stated beside what it takes and answers."""

from collections.abc import Mapping
from enum import Enum
from typing import Any, ClassVar, NamedTuple

from remindi.errors import ErrorCode
from remindi.inputs.failures import Arguments
from web.door import Door

Schema = Mapping[str, Any]


class Admission(Enum):
    """Who may come in; each is more than the one before (contract 11.5, 11.6)."""

    OPEN = "open"
    """Anybody."""
    SIGN_IN = "sign-in"
    """Anybody of our own page who brings a pre-session token, which is spent by it."""
    SESSION = "session"
    """Whoever is signed in."""
    MUTATION = "mutation"
    """Whoever is signed in and acts from our own page, as origin and CSRF token show."""


class Body(Enum):
    """What the request carries."""

    NONE = "none"
    JSON = "json"
    DEFERRED = "deferred"
    """JSON, which the responder asks for when its turn has come (contract 15.1)."""
    UPLOAD = "upload"
    """A file, which is taken in on the loop after the request was let in."""


class Database(Enum):
    """What the responder does to the database; refused where the present state of the service forbids it."""

    NONE = "none"
    READ = "read"
    WRITE = "write"
    REPLACE = "replace"
    """Another content in its place: during a restore the controller itself refuses a second one."""


class Waits(Enum):
    """Whom a responder may have to wait for; those that wait for one kind only ever wait for each other."""

    NOT = "not"
    PROBES = "probes"
    """What a check looks at."""
    TRIALS = "trials"
    """What an administrator tries out."""
    WORKLOADS = "workloads"
    BACKUPS = "backups"
    """The backup controller, for as long as whole databases are read and written."""


class Policy(NamedTuple):
    """What must hold before a responder is run, in the order of contract 11.1."""

    admission: Admission
    body: Body = Body.NONE
    database: Database = Database.NONE
    waits: Waits = Waits.NOT


class Operation(NamedTuple):
    """A method of a resource: its policy, and what is published of it."""

    policy: Policy
    summary: str
    data: Schema
    """JSON Schema of ``data`` in a success."""
    body: type[Arguments] | None = None
    """Model of the JSON body, without what the path names."""
    query: type[Arguments] | None = None
    """Model of the query string; without one every query is refused."""
    media_type: str | None = None
    """Of a success that is no envelope."""
    status: int = 200
    """Of a success."""
    codes: tuple[ErrorCode, ...] = ()
    """Refusals of its own, beside those that follow from its policy."""


class Resource:
    """A noun. Its ``on_*`` methods take a ``Call`` and what the path names, return ``data`` or a refusal.

    Each of them has its operation; one without does not start.
    """

    operations: ClassVar[Mapping[str, Operation]]
    """By HTTP method."""

    def __init__(self, door: Door) -> None:
        """Make the resource; it asks through its calls."""
        self.door = door
