"""Instants: the one parser and the one text form (contract 1.7, 2.4)."""

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from remindi.instants import EARLIEST, LATEST, parse_instant, stamp, stamp_or_none

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
STAMP = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$", re.ASCII)


def milliseconds(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)


class TestStamp:
    @given(st.integers(EARLIEST, LATEST))
    @example(EARLIEST)
    @example(LATEST)
    @example(-1)
    def test_has_the_form_of_the_contract_and_reads_back(self, instant: int) -> None:
        text = stamp(instant)
        assert STAMP.fullmatch(text)
        assert parse_instant(text) == instant

    @given(st.datetimes(timezones=st.just(UTC)))
    def test_cuts_further_digits_and_never_rounds(self, moment: datetime) -> None:
        expected = moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
        assert stamp(milliseconds(moment)) == expected

    @given(st.integers(EARLIEST, LATEST), st.integers(EARLIEST, LATEST))
    def test_sorts_as_text_like_the_instants(self, one: int, other: int) -> None:
        assert (stamp(one) < stamp(other)) == (one < other)

    def test_of_nothing_is_nothing(self) -> None:
        assert stamp_or_none(None) is None
        assert stamp_or_none(0) == "1970-01-01T00:00:00.000Z"


class TestTaken:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("2026-11-30T00:53:20Z", "2026-11-30T00:53:20.000Z"),
            ("2026-11-30t00:53:20z", "2026-11-30T00:53:20.000Z"),
            ("2026-11-30 00:53:20Z", "2026-11-30T00:53:20.000Z"),
            ("2026-11-30T00:53:20.5Z", "2026-11-30T00:53:20.500Z"),
            ("2026-11-30T00:53:20.9999999999999Z", "2026-11-30T00:53:20.999Z"),
            ("2026-11-30T00:53:20+00:00", "2026-11-30T00:53:20.000Z"),
            ("2026-11-30T00:53:20-00:00", "2026-11-30T00:53:20.000Z"),
            ("2026-11-30T00:53:20+23:59", "2026-11-29T00:54:20.000Z"),
            ("2026-11-30T00:53:20-23:59", "2026-12-01T00:52:20.000Z"),
            ("2024-02-29T12:00:00Z", "2024-02-29T12:00:00.000Z"),
            ("2000-02-29T12:00:00Z", "2000-02-29T12:00:00.000Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
            ("0000-12-31T23:59:00-00:01", "0001-01-01T00:00:00.000Z"),
            ("0001-01-01T23:59:00+23:59", "0001-01-01T00:00:00.000Z"),
            ("9999-12-31T23:59:59.9999Z", "9999-12-31T23:59:59.999Z"),
            ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59.999Z"),
            ("2016-12-31T23:59:60.0Z", "2016-12-31T23:59:59.999Z"),
            ("2017-01-01T00:59:60+01:00", "2016-12-31T23:59:59.999Z"),
            ("2026-06-30T18:59:60-05:00", "2026-06-30T23:59:59.999Z"),
            ("2026-02-28T23:59:60Z", "2026-02-28T23:59:59.999Z"),
            ("9999-12-31T23:59:60Z", "9999-12-31T23:59:59.999Z"),
        ],
    )
    def test_in_each_admitted_form(self, text: str, expected: str) -> None:
        assert stamp(parse_instant(text)) == expected

    @given(
        st.integers(EARLIEST // 1_000 + 2 * 86_400, LATEST // 1_000 - 2 * 86_400),
        st.integers(-1_439, 1_439),
        st.text("0123456789", max_size=9),
    )
    def test_at_any_offset_with_any_fraction(self, seconds: int, offset: int, digits: str) -> None:
        local = EPOCH + timedelta(seconds=seconds)
        sign, (hours, minutes) = "+-"[offset < 0], divmod(abs(offset), 60)
        fraction = f".{digits}" if digits else ""
        text = f"{local.year:04d}-{local:%m-%dT%H:%M:%S}{fraction}{sign}{hours:02d}:{minutes:02d}"
        cut = int(digits[:3].ljust(3, "0"))
        expected = milliseconds(local - timedelta(minutes=offset)) + cut
        assert parse_instant(text) == expected


class TestRefused:
    @pytest.mark.parametrize(
        "text",
        [
            "",
            "now",
            "2026-11-30",
            "2026-11-30T00:53:20",
            "2026-11-30T00:53Z",
            "2026-11-30T00:53:20.Z",
            "2026-11-30T00:53:20,5Z",
            "2026-11-30  00:53:20Z",
            "2026-11-30T00:53:20 Z",
            " 2026-11-30T00:53:20Z",
            "2026-11-30T00:53:20Z ",
            "2026-11-30T00:53:20Z\n",
            "2026-11-30T00:53:20+0100",
            "2026-11-30T00:53:20+01",
            "2026-11-30T00:53:20+24:00",
            "2026-11-30T00:53:20+01:60",
            "2026-11-30T24:00:00Z",
            "2026-11-30T00:60:00Z",
            "2026-11-30T00:53:61Z",
            "2026-00-30T00:53:20Z",
            "2026-13-30T00:53:20Z",
            "2026-11-00T00:53:20Z",
            "2026-11-31T00:53:20Z",
            "2025-02-29T00:00:00Z",
            "2100-02-29T00:00:00Z",
            "26-11-30T00:53:20Z",
            "12026-11-30T00:53:20Z",
            "-2026-11-30T00:53:20Z",
            "20261130T005320Z",
            "2026-W48-1T00:53:20Z",
            "٢٠٢٦-11-30T00:53:20Z",
            "2026-11-30T00:53:2\u0660Z",
            "0000-12-31T23:59:59Z",
            "0000-02-30T23:59:59Z",
            "0001-01-01T00:00:00+00:01",
            "9999-12-31T23:59:59-00:01",
            "2016-12-31T22:59:60Z",
            "2016-12-31T23:58:60Z",
            "2016-12-30T23:59:60Z",
            "2016-12-31T23:59:60+01:00",
            "2017-01-01T00:00:60Z",
        ],
    )
    def test_in_any_other_form(self, text: str) -> None:
        with pytest.raises(ValueError, match=r"\w"):
            parse_instant(text)

    @given(st.text())
    def test_with_a_value_error_and_no_other(self, text: str) -> None:
        with suppress(ValueError):
            parse_instant(text)
