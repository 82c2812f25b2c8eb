"""Exports: all items of an owner with their links, events and evidence as JSON Lines. Pure.

The first line is the manifest, the last one counts and hashes what lies between: the items in the order of
their identifiers, which is that of their creation. Each line has one form only, so equal items make equal
bytes. A history of more than ``EVENTS_A_LINE`` events goes on in lines of its own, so every line is bounded.
"""

import hashlib
from collections.abc import Sequence
from typing import Final, NamedTuple

from remindi.events import Event
from remindi.evidence import EvidenceRecord
from remindi.identifiers import uuid_text
from remindi.instants import stamp
from remindi.items import ItemRecord
from remindi.views import Json, event_view, evidence_view, item_view, to_json

FORMAT: Final = "remindi-export"
FORMAT_VERSION: Final = 1
EVENTS_A_LINE: Final = 256
MAX_LINE_BYTES: Final = 16 * 1_048_576
"""Of any line with its line feed: more than the longest texts that an item and so many events may have."""
_OWNER_SALT: Final = b"remindi-export owner\0"


class Exported(NamedTuple):
    """One item with all that belongs to it."""

    record: ItemRecord
    """Its key means nothing outside of the database that it was read from."""
    events: tuple[Event, ...]
    evidence: EvidenceRecord | None


class Totals(NamedTuple):
    """What an export holds."""

    items: int
    events: int
    evidence: int


class Sum:
    """Counts and hashes the lines between manifest and end, as they are written or read."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.totals = Totals(0, 0, 0)
        self._digest = hashlib.sha256()

    def add(self, exported: Exported, lines: Sequence[bytes]) -> None:
        """Count an item, and its lines as they are."""
        items, events, evidence = self.totals
        self.totals = Totals(
            items + 1, events + len(exported.events), evidence + (exported.evidence is not None)
        )
        for line in lines:
            self._digest.update(line)

    @property
    def sha256(self) -> str:
        """Of the lines so far with their line feeds, 64 lower-case hex digits."""
        return self._digest.hexdigest()


def manifest_line(owner: str, schema_version: int, now: int) -> bytes:
    """The first line.

    Args:
        owner: of the items; only its digest is written.
        schema_version: of the database that they come from.
        now: when it is made; of all lines this alone differs between two exports of the same items.
    """
    return _line(
        {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "schema_version": schema_version,
            "owner_sha256": owner_digest(owner),
            "created_at": stamp(now),
        }
    )


def item_lines(exported: Exported) -> list[bytes]:
    """The lines of one item: its own, and more where its history is long."""
    item = exported.record.item
    events = [_event(event, item.id) for event in exported.events]
    lines = [
        _line(
            {
                "item": {**item_view(exported.record), "last_event_sequence": item.event_count},
                "events": events[:EVENTS_A_LINE],
                "evidence": None if exported.evidence is None else _own(evidence_view(exported.evidence)),
            }
        )
    ]
    for first in range(EVENTS_A_LINE, len(events), EVENTS_A_LINE):
        more = events[first : first + EVENTS_A_LINE]
        lines.append(_line({"remindi_id": uuid_text(item.id), "events": more}))
    return lines


def end_line(read: Sum) -> bytes:
    """The last line."""
    return _line({"end": {**read.totals._asdict(), "sha256": read.sha256}})


def owner_digest(owner: str) -> str:
    """An owner without his name."""
    return hashlib.sha256(_OWNER_SALT + owner.encode()).hexdigest()


def _event(event: Event, remindi_id: bytes) -> Json:
    return _own(event_view(event, remindi_id))


def _own(view: Json) -> Json:
    """A view without the item that it stands under anyway."""
    del view["remindi_id"]
    return view


def _line(value: Json) -> bytes:
    return to_json(value) + b"\n"
