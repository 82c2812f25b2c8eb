"""What the writer is asked: every change of the database. It answers after the commit."""

from dataclasses import dataclass
from pathlib import Path

from actors.messages import Notice, Request
from actors.messages.control import Control, LeaseRow, SettingRow, WorkloadRow
from remindi.adapters import AdapterRow, Configuration
from remindi.answers import CheckPage, Mutated
from remindi.backups import BackupRecord
from remindi.errors import Refusal
from remindi.events import LifecycleEvent
from remindi.lifecycle import Probe
from remindi.requests import Cancellation, CheckQuery, Completion, NewItem, Snooze, Update


@dataclass(frozen=True, slots=True, kw_only=True)
class AddItem(Request[Mutated | Refusal]):
    """Create an item."""

    request: NewItem


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteItem(Request[Mutated | Refusal]):
    """End an item with evidence."""

    request: Completion


@dataclass(frozen=True, slots=True, kw_only=True)
class SnoozeItem(Request[Mutated | Refusal]):
    """Put an item off."""

    request: Snooze


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateItem(Request[Mutated | Refusal]):
    """Change an item or advance its occurrence."""

    request: Update


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelItem(Request[Mutated | Refusal]):
    """End an item with a reason."""

    request: Cancellation


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatePage(Request[CheckPage]):
    """Evaluate the items of one check page and write what changed, in one transaction (contract 5.1)."""

    query: CheckQuery
    as_of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """What a probe said, for the version of the item that was probed."""

    key: int
    version: int
    probe: Probe | None
    """Null: it could not be probed; only its manual check is looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyProbes(Request["int | LeaseLost"]):
    """Apply probe results; an item that changed meanwhile is skipped. Answers how many were applied."""

    results: tuple[ProbeResult, ...]
    lifecycle_event: LifecycleEvent
    as_of: int
    lease: str | None = None
    """Holder under whose lease a scheduler pass writes; null for a check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RipePosition:
    """The place of an item in the order of a scheduler pass: its own time, then its key."""

    wake: int
    key: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RipeBatch:
    """What one batch of a pass did."""

    evaluated: int
    passed_over: int
    """Items whose evaluation failed; they stay as they were and the pass goes on."""
    next: RipePosition | None
    """Where the pass goes on; null when none is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseLost:
    """Nothing was written: the lease is not held any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateRipe(Request[RipeBatch | LeaseLost]):
    """Evaluate one batch of items whose own time is reached (contract 8.1)."""

    lease: str
    as_of: int
    after: RipePosition | None
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeIdempotency(Request[int]):
    """Drop expired idempotency rows, at most ``limit``; answers how many went."""

    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AcquireLease(Request[LeaseRow | None]):
    """Take the lease when it is free or expired; null: somebody holds it (contract 8.3)."""

    holder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GetLease(Request[LeaseRow | None]):
    """The lease as it stands, whoever holds it; for who does not know what became of an acquire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewLease(Request[LeaseRow | None]):
    """Renew the lease held at this version; null: it is lost."""

    held: LeaseRow


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseLease(Request[bool]):
    """Delete exactly the lease held at this version."""

    held: LeaseRow


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateSetting(Request[SettingRow | Refusal]):
    """Store a setting; whoever uses it is told after the commit (contract 11.9, 12)."""

    key: str
    value: int
    expected_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateAdapter(Request[AdapterRow | Refusal]):
    """Store an adapter whole; whoever probes is told after the commit (contract 11.9)."""

    name: str
    enabled: bool
    configuration: Configuration
    expected_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordAudit(Request[Refusal | None]):
    """Store an audit row of what the writer has no part in, or was not asked for (contract 13.2)."""

    event_type: str
    outcome: str
    """``succeeded``, ``rejected`` or ``failed``."""
    details: tuple[tuple[str, str], ...]
    """Names and values of its ``details``."""
    occurred_at: int | None = None
    """When it happened; null for now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordBackup(Request[tuple[BackupRecord, ...]]):
    """Store a backup's record, with its audit row in the same transaction (contract 14.1).

    Answers the records that expire by it, each with its audit row; none unless retention is to be looked at.
    """

    record: BackupRecord
    event_type: str | None
    """Of the audit row; null for none."""
    retains: bool
    """Whether retention is looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseWriter(Request[None]):
    """Refuse everything but what belongs to an operation, for so many seconds; asked again, for so many more.

    Answered when all that was taken in before is durable. The pause is a lease: it ends by itself, unless
    the content was replaced meanwhile.
    """

    operation_id: bytes
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceContent(Request[bytes]):
    """Put the content of a verified file in place of all there is, during a pause; answers its generation."""

    operation_id: bytes
    source: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class GetReplacement(Request[bool]):
    """Whether an operation has replaced the content, as far as this writer knows; paused or not."""

    operation_id: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleContent(Request[Control]):
    """Write into the content that stays what belongs to it, in one transaction, and tell all who follow.

    Desired workload states as they were before, records of backups, and rows of the audit (contract 15.2).
    """

    operation_id: bytes
    desired: tuple[WorkloadRow, ...]
    records: tuple[BackupRecord, ...]
    audits: tuple[RecordAudit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeWriter(Request[None]):
    """End the pause of an operation."""

    operation_id: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDesired(Request[tuple[WorkloadRow, ...]]):
    """Store desired workload states in one transaction, with their audit rows (contract 13)."""

    components: tuple[str, ...]
    desired: str
    action: str
    """``started``, ``stopped`` or ``restarted``, as audited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseExtended(Notice):
    """Whoever paused the writer is still at it: the time of the pause begins anew."""

    operation_id: bytes
