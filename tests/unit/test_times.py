"""Times as people write them: every form, every change of clocks, in zones of all kinds."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remindi.cli import exits
from remindi.cli.exits import Refused
from remindi.cli.times import WEEKDAYS, TimeRefused, read_time, shown_time, shown_with_distance
from remindi.cli.zones import zone_of
from remindi.instants import LATEST, parse_instant, stamp

BERLIN = ZoneInfo("Europe/Berlin")
ZONES: list[tzinfo] = [
    UTC,
    BERLIN,
    ZoneInfo("America/New_York"),
    ZoneInfo("Asia/Kolkata"),
    ZoneInfo("Australia/Lord_Howe"),
    ZoneInfo("Pacific/Apia"),
    ZoneInfo("Africa/Monrovia"),
]
# A Monday, 11:00 in Berlin.
NOW = parse_instant("2026-11-30T10:00:00Z")

instants = st.integers(parse_instant("1900-01-01T00:00:00Z"), parse_instant("2100-01-01T00:00:00Z"))
seconds = instants.map(lambda instant: instant // 1_000 * 1_000)
zones = st.sampled_from(ZONES)


def read(text: str, zone: tzinfo = BERLIN, now: int = NOW) -> str:
    return stamp(read_time(text, now=now, zone=zone))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-12-01T09:00:00Z", "2026-12-01T09:00:00.000Z"),
        ("2026-12-01t09:00:00.1239+01:00", "2026-12-01T08:00:00.123Z"),
        ("2026-12-01 09:00:00 ", "2026-12-01T08:00:00.000Z"),
        ("2026-12-01 09:00", "2026-12-01T08:00:00.000Z"),
        ("2026-12-01T09:00", "2026-12-01T08:00:00.000Z"),
        ("2026-07-01 9:00", "2026-07-01T07:00:00.000Z"),
        ("now", "2026-11-30T10:00:00.000Z"),
        ("+2h", "2026-11-30T12:00:00.000Z"),
        ("+ 90m", "2026-11-30T11:30:00.000Z"),
        ("+3d12h", "2026-12-03T22:00:00.000Z"),
        ("in 2h", "2026-11-30T12:00:00.000Z"),
        ("In  90 m", "2026-11-30T11:30:00.000Z"),
        ("today 18:00", "2026-11-30T17:00:00.000Z"),
        ("today 08:00", "2026-11-30T07:00:00.000Z"),
        ("Tomorrow 09:00", "2026-12-01T08:00:00.000Z"),
        ("mon 09:00", "2026-12-07T08:00:00.000Z"),
        ("mon 11:00", "2026-12-07T10:00:00.000Z"),
        ("mon 11:01", "2026-11-30T10:01:00.000Z"),
        ("tuesday 23:59:59", "2026-12-01T22:59:59.000Z"),
        ("SUN 00:00", "2026-12-05T23:00:00.000Z"),
    ],
)
def test_each_form_names_one_instant(text: str, expected: str) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "what_to_write"),
    [
        ("", "tomorrow 09:00"),
        ("soon", "tomorrow 09:00"),
        ("soon 09:00", "tomorrow 09:00"),
        ("9am", "tomorrow 09:00"),
        ("09:00", '"today 09:00" or "tomorrow 09:00"'),
        ("tomorrow", '"tomorrow 09:00"'),
        ("fri", '"fri 09:00"'),
        ("2026-12-01", '"2026-12-01 09:00"'),
        ("tomorrow 24:00", "no such day or time"),
        ("tomorrow 09:60", "no such day or time"),
        ("2026-02-29 09:00", "no such day or time"),
        ("0000-01-01 09:00", "no such day or time"),
        ("+5", "say 5s, 5m or 5h"),
        ("in 2 hours", "a duration such as"),
        ("+999999999w", "no such day or time"),
        ("٢٠٢٦-12-01 09:00", "tomorrow 09:00"),
        ("9999-12-31 23:59", "no such day or time"),
    ],
)
def test_what_is_no_time_is_refused_with_what_to_write(text: str, what_to_write: str) -> None:
    with pytest.raises(TimeRefused) as refused:
        read(text, ZoneInfo("America/New_York"))
    assert what_to_write in str(refused.value)


def test_a_time_that_clocks_skip_is_refused_with_both_neighbours() -> None:
    with pytest.raises(TimeRefused) as refused:
        read("2027-03-28 02:30")
    assert "does not exist in Europe/Berlin" in str(refused.value)
    assert "2027-03-28T03:30:00+02:00 or 2027-03-28T01:30:00+01:00" in str(refused.value)


def test_a_time_that_comes_twice_is_refused_with_both() -> None:
    with pytest.raises(TimeRefused) as refused:
        read("2026-10-25 02:30")
    assert "comes twice in Europe/Berlin" in str(refused.value)
    assert "2026-10-25T02:30:00+02:00 or 2026-10-25T02:30:00+01:00" in str(refused.value)


def test_a_day_that_a_zone_skipped_whole_does_not_exist() -> None:
    with pytest.raises(TimeRefused, match="does not exist"):
        read("2011-12-30 12:00", ZoneInfo("Pacific/Apia"))


@given(seconds, zones)
def test_a_local_time_means_its_instant_or_is_refused_with_it(instant: int, zone: tzinfo) -> None:
    local = datetime.fromtimestamp(instant / 1_000, UTC).astimezone(zone)
    text = local.replace(tzinfo=None).isoformat(sep=" ")
    try:
        assert read_time(text, now=NOW, zone=zone) == instant
    except TimeRefused as refused:
        offered = str(refused).partition("write ")[2].split(" or ")
        assert instant in [parse_instant(text) for text in offered]
        assert len({parse_instant(text) for text in offered}) == 2


@given(instants, zones)
def test_a_shown_time_is_read_back_to_the_second(instant: int, zone: tzinfo) -> None:
    shown = shown_time(instant, zone)
    if len(shown) == len("2026-12-01 09:00:00+01:00"):
        assert parse_instant(shown) == instant // 1_000 * 1_000


@given(instants, zones, st.sampled_from(WEEKDAYS), st.times())
def test_a_weekday_is_the_next_one_with_that_time_still_to_come(
    now: int, zone: tzinfo, weekday: str, time: object
) -> None:
    clock = str(time)[:5]
    try:
        instant = read_time(f"{weekday} {clock}", now=now, zone=zone)
    except TimeRefused:
        return
    local = datetime.fromtimestamp(instant / 1_000, UTC).astimezone(zone)
    assert WEEKDAYS[local.weekday()] == weekday
    assert local.isoformat()[11:16] == clock
    # An hour more or less: the clocks may change in between.
    assert timedelta(hours=-1) < timedelta(milliseconds=instant - now) <= timedelta(days=7, hours=1)


@given(st.text(), zones)
def test_no_text_breaks_the_reading(text: str, zone: tzinfo) -> None:
    with suppress(TimeRefused):
        read_time(text, now=NOW, zone=zone)


def test_a_time_is_shown_with_its_distance() -> None:
    shown = shown_with_distance(parse_instant("2026-11-30T13:00:00Z"), NOW, BERLIN)
    assert shown == "2026-11-30 14:00:00+01:00 (in 3 h)"


def test_an_instant_that_a_zone_cannot_show_is_shown_in_utc() -> None:
    assert shown_time(LATEST, BERLIN) == "9999-12-31T23:59:59.999Z"


# ----------------------------------------------------------------------- zones


def test_a_named_zone_wins_over_the_environment_and_that_over_the_machine(tmp_path: Path) -> None:
    link = tmp_path / "localtime"
    folder = tmp_path / "zoneinfo" / "Asia"
    folder.mkdir(parents=True)
    (folder / "Tokyo").write_bytes(b"")
    link.symlink_to(folder / "Tokyo")
    assert str(zone_of("Europe/Berlin", {"TZ": "Asia/Kolkata"}, link)) == "Europe/Berlin"
    assert str(zone_of(None, {"TZ": "Asia/Kolkata"}, link)) == "Asia/Kolkata"
    assert str(zone_of(None, {"TZ": ":Asia/Kolkata"}, link)) == "Asia/Kolkata"
    assert str(zone_of(None, {}, link)) == "Asia/Tokyo"
    assert zone_of("UTC", {}, link) is UTC
    assert zone_of(None, {"TZ": ""}, link) is UTC


def test_a_machine_without_a_zone_is_in_utc(tmp_path: Path) -> None:
    assert zone_of(None, {}, tmp_path / "missing") is UTC
    (tmp_path / "empty").write_bytes(b"")
    assert zone_of(None, {}, tmp_path / "empty") is UTC


@pytest.mark.parametrize(
    "name", ["Europe/Atlantis", "../../etc/passwd", "", "/etc/localtime", "Europe", "\0"]
)
@pytest.mark.parametrize("by", ["--zone", "TZ"])
def test_a_zone_that_is_not_known_is_refused(name: str, by: str, tmp_path: Path) -> None:
    if (name, by) == ("", "TZ"):
        return
    with pytest.raises(Refused, match=by) as refused:
        zone_of(name if by == "--zone" else None, {"TZ": name}, tmp_path)
    assert refused.value.code == exits.USAGE
