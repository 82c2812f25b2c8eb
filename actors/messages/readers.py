"""What the reader is asked. It sees everything whose reply has gone out and never writes."""

from dataclasses import dataclass
from typing import NamedTuple

from actors.messages import Request
from actors.messages.control import Control, SettingRow
from remindi.adapters import AdapterRow
from remindi.answers import CheckPage, HistoryPage, ListPage
from remindi.audit import AuditQuery, AuditRow
from remindi.backups import BackupRecord
from remindi.errors import Refusal
from remindi.items import ItemRecord
from remindi.overview import Overview
from remindi.requests import CheckQuery, HistoryQuery, ListQuery
from remindi.triggers import Condition


class ProbeTarget(NamedTuple):
    """A scheduled condition item whose next probe is due."""

    key: int
    version: int
    condition: Condition
    next_evaluation_at: int


class DueCondition(NamedTuple):
    """Where a walk over due condition items goes on."""

    next_evaluation_at: int
    key: int


class Waiting(NamedTuple):
    """What waits for the scheduler at one moment."""

    backlog: int
    oldest_wake: int | None


class Origin(NamedTuple):
    """Where a content comes from."""

    born_at: int
    """When its database was made."""
    generation: bytes
    """Another one after each restore."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsettled:
    """The page has items whose evaluation must be written: ask the writer for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionsDue:
    """Conditions of the project want probing first: ask for them with ``ListDueConditions``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetCheckPage(Request[CheckPage | Unsettled | ConditionsDue]):
    """A page of a check, when nothing on it changes state by being evaluated as of ``as_of``."""

    query: CheckQuery
    as_of: int
    probing: bool
    """Whether the asker would probe: only then due conditions are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListItems(Request[ListPage]):
    """A page of a list."""

    query: ListQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class GetItem(Request[ItemRecord | Refusal]):
    """One whole item."""

    remindi_id: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ListEvents(Request[HistoryPage | Refusal]):
    """A page of an item's history with its evidence."""

    query: HistoryQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class ListDueConditions(Request[tuple[ProbeTarget, ...]]):
    """Scheduled condition items whose probe is due, in time order; of one project, or of all."""

    as_of: int
    project_id: str | None
    after: DueCondition | None
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GetWaiting(Request[Waiting]):
    """What a pass as of ``as_of`` has left waiting, and since when; the count stops at ``limit``."""

    as_of: int
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GetControl(Request[Control]):
    """Settings, adapters and desired workload states."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSettings(Request[tuple[SettingRow, ...]]):
    """The setting rows, by key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAdapters(Request[tuple[AdapterRow, ...]]):
    """The adapter rows, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAudit(Request[tuple[AuditRow, ...]]):
    """Administration events, in the order of the query (contract 11.9, 13.2)."""

    query: AuditQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class ListBackups(Request[tuple[BackupRecord, ...]]):
    """Records of backups, the newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetBackup(Request[BackupRecord | None]):
    """One backup's record."""

    backup_id: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class GetOrigin(Request[Origin]):
    """When the database was made, and which content it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReopenReader(Request[None]):
    """Forget what is known of the content, which is another one now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetOverview(Request[Overview]):
    """Counts, agenda and the last ninety days, as of an instant."""

    as_of: int
