"""Manifests: what lies beside a backup and says what it is (contract 14.3). Pure.

A manifest may come from anybody who can write to the directory; what breaks one rule is none.
"""

import json
import re
from typing import Any, Final
from uuid import UUID

from remindi.backups import BackupRecord, Source, Status, file_name
from remindi.identifiers import uuid_text
from remindi.instants import parse_instant, stamp

MAX_BYTES: Final = 16_384
MAX_DETAILS_BYTES: Final = 1_024
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_KEYS: Final = frozenset(
    (
        "id",
        "file_name",
        "source",
        "sha256",
        "size_bytes",
        "schema_version",
        "created_at",
        "verified_at",
        "created_by",
        "details",
    )
)


class _Malformed(Exception):
    pass


def manifest_of(record: BackupRecord) -> bytes:
    """The manifest of a record: all of it but its status."""
    name = uuid_text(record.id)
    manifest: dict[str, Any] = {
        "id": name,
        "file_name": file_name(name),
        "source": record.source.value,
        "sha256": record.sha256,
        "size_bytes": record.size_bytes,
        "schema_version": record.schema_version,
        "created_at": stamp(record.created_at),
        "verified_at": stamp(record.verified_at),
        "created_by": record.created_by,
        "details": {},
    }
    return json.dumps(manifest, indent=2).encode() + b"\n"


def read_manifest(text: bytes, newest_schema: int) -> BackupRecord | None:
    """The record that a manifest tells of, ready and with no item counted; None when it breaks a rule.

    Args:
        text: of the file, at most one byte more than a manifest may have.
        newest_schema: the highest schema version that is known.
    """
    if len(text) > MAX_BYTES:
        return None
    try:
        return _record(
            json.loads(text.decode(), object_pairs_hook=_once, parse_constant=_refuse), newest_schema
        )
    except (_Malformed, ValueError, RecursionError):
        return None


def _record(found: Any, newest_schema: int) -> BackupRecord:
    if not isinstance(found, dict) or found.keys() != _KEYS:
        raise _Malformed
    identifier = _text(found["id"])
    parsed = UUID(identifier)
    _require(str(parsed) == identifier)
    _require(_text(found["file_name"]) == file_name(identifier))
    _require(_HASH.fullmatch(_text(found["sha256"])) is not None)
    _require(_number(found["size_bytes"]) > 0)
    _require(1 <= _number(found["schema_version"]) <= newest_schema)
    author = _text(found["created_by"])
    _require(1 <= len(author) <= 256 and _CONTROL.search(author) is None)
    details = found["details"]
    _require(isinstance(details, dict) and len(json.dumps(details).encode()) <= MAX_DETAILS_BYTES)
    return BackupRecord(
        id=parsed.bytes,
        source=Source(_text(found["source"])),
        status=Status.READY,
        sha256=found["sha256"],
        size_bytes=found["size_bytes"],
        schema_version=found["schema_version"],
        created_at=parse_instant(_text(found["created_at"])),
        verified_at=parse_instant(_text(found["verified_at"])),
        created_by=author,
        items=0,
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    _require(len(found) == len(pairs))
    return found


def _refuse(_constant: str) -> None:
    raise _Malformed


def _require(holds: bool) -> None:
    if not holds:
        raise _Malformed


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _Malformed
    return value


def _number(value: Any) -> int:
    if type(value) is not int or value >= 1 << 63:
        raise _Malformed
    return value
