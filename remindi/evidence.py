"""Completion evidence: what was seen, when, and where it can be looked up (contract 1.6, 2.6)."""

from enum import IntEnum
from typing import Final, NamedTuple


class EvidenceType(IntEnum):
    """What kind of proof it is."""

    OBSERVATION = 0
    TEST_RESULT = 1
    ARTIFACT = 2
    LOG_REFERENCE = 3
    CHANGE_REFERENCE = 4
    USER_CONFIRMATION = 5
    EXTERNAL_REFERENCE = 6


EVIDENCE_WORDS: Final = tuple(member.name.lower() for member in EvidenceType)


class Evidence(NamedTuple):
    """Normalized evidence as a completion brings it."""

    type: EvidenceType
    summary: str
    reference_uri: str | None
    content_hash: str | None
    """``sha256:`` and 64 lower-case hex digits."""
    observed_at: int
    metadata_json: str | None
    """The caller's metadata object as JSON text, value for value."""


class EvidenceRecord(NamedTuple):
    """Evidence as it is stored and shown."""

    id: bytes
    remindi_id: bytes
    evidence: Evidence
    recorded_at: int
    recorded_by: str
