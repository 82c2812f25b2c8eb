"""Identifiers: spellings in, one spelling out, order within (contract 2.3, RFC 9562)."""

import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remindi.identifiers import COUNTER_BITS, UUID_PATTERN, parse_uuid, uuid7, uuid7_order, uuid_text

milliseconds = st.integers(0, 2**48 - 1)
counters = st.integers(0, 2**COUNTER_BITS - 1)
tails = st.integers(0, 2**54 - 1)


@given(st.uuids())
def test_every_spelling_reads_to_the_same_bytes(identifier: uuid.UUID) -> None:
    dashed, bare = str(identifier), identifier.hex
    for text in (dashed, bare, f"{{{dashed}}}", f"{{{bare}}}", f"urn:uuid:{dashed}", f"urn:uuid:{bare}"):
        for spelled in (text, text.upper()):
            assert parse_uuid(spelled) == identifier.bytes
            assert re.search(UUID_PATTERN, spelled)


@given(st.uuids())
def test_answers_use_the_canonical_spelling(identifier: uuid.UUID) -> None:
    assert uuid_text(identifier.bytes) == str(identifier)


@given(st.text() | st.text("0123456789abcdef-{}urn:id", min_size=30, max_size=50))
def test_what_is_no_uuid_is_refused(text: str) -> None:
    if re.fullmatch(UUID_PATTERN, text) is None or text.endswith("\n"):
        with pytest.raises(ValueError, match="not a UUID"):
            parse_uuid(text)


@given(milliseconds, counters, tails)
def test_a_made_uuid_is_of_version_7_and_gives_its_order_back(time: int, counter: int, tail: int) -> None:
    made = uuid7(time, counter, tail)
    assert uuid.UUID(bytes=made).version == 7
    assert uuid.UUID(bytes=made).variant == uuid.RFC_4122
    assert uuid7_order(made) == (time, counter)
    assert int.from_bytes(made[:6], "big") == time


@given(milliseconds, counters, tails, milliseconds, counters, tails)
def test_made_uuids_sort_by_time_then_counter(t1: int, c1: int, r1: int, t2: int, c2: int, r2: int) -> None:
    if (t1, c1) != (t2, c2):
        assert (uuid7(t1, c1, r1) < uuid7(t2, c2, r2)) == ((t1, c1) < (t2, c2))
