"""Manifests: what was written is read back, and what breaks one rule is none (contract 14.3)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remindi.backups import BackupRecord, Source, Status
from remindi.manifests import MAX_BYTES, manifest_of, read_manifest

NEWEST = 3
RECORD = BackupRecord(
    id=bytes.fromhex("01a22f28787470008006a562466bb9cb"),
    source=Source.MANUAL,
    status=Status.READY,
    sha256="ab" * 32,
    size_bytes=4_096,
    schema_version=3,
    created_at=1_800_000_000_123,
    verified_at=1_800_000_001_000,
    created_by="webui:admin",
    items=0,
)
NAME = "01a22f28-7874-7000-8006-a562466bb9cb"

records = st.builds(
    RECORD._replace,
    id=st.binary(min_size=16, max_size=16),
    source=st.sampled_from(Source),
    sha256=st.text("0123456789abcdef", min_size=64, max_size=64),
    size_bytes=st.integers(1, 2**63 - 1),
    schema_version=st.integers(1, NEWEST),
    created_at=st.integers(0, 4_000_000_000_000),
    verified_at=st.integers(0, 4_000_000_000_000),
    created_by=st.text(st.characters(blacklist_categories=("Cc", "Cs")), min_size=1, max_size=256),
)


@given(records)
def test_what_is_written_is_read_back(record: BackupRecord) -> None:
    text = manifest_of(record)
    assert len(text) <= MAX_BYTES
    assert read_manifest(text, NEWEST) == record


def test_it_holds_the_record_but_for_its_status() -> None:
    assert json.loads(manifest_of(RECORD)) == {
        "id": NAME,
        "file_name": f"remindi-{NAME}.sqlite3",
        "source": "manual",
        "sha256": "ab" * 32,
        "size_bytes": 4_096,
        "schema_version": 3,
        "created_at": "2027-01-15T08:00:00.123Z",
        "verified_at": "2027-01-15T08:00:01.000Z",
        "created_by": "webui:admin",
        "details": {},
    }


def changed(**changes: Any) -> bytes:
    return json.dumps(json.loads(manifest_of(RECORD)) | changes).encode()


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "no uuid"},
        {"id": NAME.upper()},
        {"id": NAME.replace("-", "")},
        {"id": None},
        {"file_name": "remindi.db"},
        {"file_name": f"../remindi-{NAME}.sqlite3"},
        {"source": "elsewhere"},
        {"source": 1},
        {"sha256": "AB" * 32},
        {"sha256": "ab" * 31},
        {"sha256": "ab" * 32 + "\n"},
        {"size_bytes": 0},
        {"size_bytes": -1},
        {"size_bytes": True},
        {"size_bytes": 1.0},
        {"size_bytes": 2**63},
        {"schema_version": 0},
        {"schema_version": NEWEST + 1},
        {"schema_version": "3"},
        {"created_at": "yesterday"},
        {"created_at": 5},
        {"verified_at": None},
        {"created_by": ""},
        {"created_by": "x" * 257},
        {"created_by": "a\nb"},
        {"created_by": "a\x85b"},
        {"details": []},
        {"details": {"x": "y" * 1_024}},
        {"more": 1},
        {"status": "ready"},
    ],
    ids=str,
)
def test_what_breaks_a_rule_is_none(changes: dict[str, Any]) -> None:
    assert read_manifest(changed(**changes), NEWEST) is None


@pytest.mark.parametrize("missing", sorted(json.loads(manifest_of(RECORD))))
def test_what_lacks_something_is_none(missing: str) -> None:
    found = json.loads(manifest_of(RECORD))
    del found[missing]
    assert read_manifest(json.dumps(found).encode(), NEWEST) is None


def test_small_details_are_taken() -> None:
    assert read_manifest(changed(details={"note": "kept elsewhere"}), NEWEST) == RECORD


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"\xff\xfe",
        b"[" * 20_000,
        b"[" * 10_000,
        manifest_of(RECORD)[:-10],
        manifest_of(RECORD).replace(b'"details": {}', b'"details": {}, "details": {}'),
        manifest_of(RECORD).replace(b"4096", b"NaN"),
        manifest_of(RECORD).replace(b"4096", b"9" * 5_000),
        manifest_of(RECORD) + b" " * MAX_BYTES,
    ],
    ids=lambda text: str(text[:12]),
)
def test_what_is_no_json_of_ours_is_none(text: bytes) -> None:
    assert read_manifest(text, NEWEST) is None


@given(st.binary(max_size=400))
def test_no_bytes_raise(text: bytes) -> None:
    read_manifest(text, NEWEST)


@given(st.integers(0, len(manifest_of(RECORD)) - 1), st.integers(1, 255))
def test_a_changed_byte_is_no_other_id_for_the_same_file(place: int, change: int) -> None:
    text = bytearray(manifest_of(RECORD))
    text[place] ^= change
    found = read_manifest(bytes(text), NEWEST)
    assert found is None or found.id == RECORD.id
