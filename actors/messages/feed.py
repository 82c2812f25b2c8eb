"""What whoever watches is told after a commit. Settings and adapters have notices of their own."""

from dataclasses import dataclass
from typing import NamedTuple

from actors.messages import Notice
from remindi.events import EventType
from remindi.items import State


class ItemChange(NamedTuple):
    """An item as one event left it."""

    id: bytes
    version: int
    state: State
    event: EventType


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsChanged(Notice):
    """Items are so now; the order is that of their events."""

    changes: tuple[ItemChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupsChanged(Notice):
    """Records of backups, what the controller is at, or when it makes the next one by itself, are new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreChanged(Notice):
    """What the board shows of the latest restore, or of the maintenance, is new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentReplaced(Notice):
    """The database holds another content: whatever was told before means nothing any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadsChanged(Notice):
    """What the board shows of the workloads is new."""


class Upload(NamedTuple):
    """A backup that is on its way in."""

    request_id: str
    """Of the exchange: whoever sends it knows it by that."""
    received_bytes: int
    total_bytes: int
    """As declared, with the frame around the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadsChanged(Notice):
    """So much has come of what is on its way; told by the door that takes it in."""

    uploads: tuple[Upload, ...]
