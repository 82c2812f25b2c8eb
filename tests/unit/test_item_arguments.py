"""The commands of the operator: what may be said, and what the tools are given for it."""

import io
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from remindi.cli import exits
from remindi.cli.api_arguments import (
    GetSettingArguments,
    ListSettingsArguments,
    ListWorkloadsArguments,
    MoveWorkloadsArguments,
    SetSettingArguments,
    StatusArguments,
)
from remindi.cli.arguments import GROUPS, parse
from remindi.cli.clock import Clock
from remindi.cli.exits import Refused
from remindi.cli.item_arguments import (
    AddArguments,
    CancelArguments,
    CheckArguments,
    CompleteArguments,
    HistoryArguments,
    ListArguments,
    ShowArguments,
    SnoozeArguments,
    UpdateArguments,
)
from remindi.cli.promises import promise, with_goal_link
from remindi.cli.sources import MAX_BYTES, hash_of, object_of, text_of
from remindi.inputs.mutations import read_add
from remindi.instants import parse_instant
from remindi.requests import NewItem

CLOCK = Clock(parse_instant("2026-11-30T10:00:00Z"), ZoneInfo("Europe/Berlin"))
PROOF = ["--evidence-type", "observation", "--summary", "seen"]


@pytest.mark.parametrize(
    ("argv", "kind", "fields"),
    [
        (
            ["add", "m", "--project", "p", "--after", "2h", "--grace", "1d"],
            AddArguments,
            {"message": "m", "project": "p", "after": 7_200, "grace": 86_400, "key": None, "links": None},
        ),
        (["list"], ListArguments, {"limit": 50, "everything": False, "states": [], "as_json": False}),
        (
            ["list", "--all", "--state", "due", "--state", "active", "--json"],
            ListArguments,
            {"everything": True, "states": ["due", "active"], "as_json": True},
        ),
        (["show", "abcd", "--zone", "UTC"], ShowArguments, {"item": "abcd", "zone": "UTC"}),
        (
            ["check", "--project", "p", "--goal", "a", "--goal", "b", "--no-probe"],
            CheckArguments,
            {"event": "checkpoint", "goals": ["a", "b"], "probe": False, "scheduled": False},
        ),
        (
            ["complete", "abcd", *PROOF, "--hash-of", "f", "--version", "3"],
            CompleteArguments,
            {"hash_of": Path("f"), "observed": "now", "version": 3},
        ),
        (["snooze", "abcd", "--until", "+2h", "--reason", "r"], SnoozeArguments, {"until": "+2h"}),
        (
            ["update", "abcd", "--reason", "r", "--acknowledge"],
            UpdateArguments,
            {"disposition": "acknowledged", "message": None, "at": None},
        ),
        (["cancel", "abcd", "--reason", "r", "--key", "k"], CancelArguments, {"key": "k"}),
        (["history", "abcd", "--event", "created"], HistoryArguments, {"events": ["created"]}),
        (["status", "--url", "http://h"], StatusArguments, {"url": "http://h"}),
        (["settings", "list"], ListSettingsArguments, {}),
        (["settings", "get", "k"], GetSettingArguments, {"setting": "k"}),
        (["--url", "http://h", "--json", "list"], ListArguments, {"url": "http://h", "as_json": True}),
        (["--zone=UTC", "show", "abcd"], ShowArguments, {"zone": "UTC", "item": "abcd"}),
        (["--env-file", "f", "workloads", "list"], ListWorkloadsArguments, {"env_file": Path("f")}),
        (
            ["--json", "settings", "--url", "http://a", "get", "k", "--url", "http://b"],
            GetSettingArguments,
            {"setting": "k", "url": "http://b", "as_json": True},
        ),
        (["settings", "set", "k", "-5"], SetSettingArguments, {"setting": "k", "value": -5}),
        (["workloads", "list"], ListWorkloadsArguments, {}),
        (
            ["workloads", "stop", "all"],
            MoveWorkloadsArguments,
            {"transition": "stop", "component": "all"},
        ),
    ],
)
def test_each_command_has_its_arguments(argv: list[str], kind: type, fields: dict[str, Any]) -> None:
    given = parse(argv)
    assert type(given) is kind
    assert {name: getattr(given, name) for name in fields} == fields


@pytest.mark.parametrize(
    "argv",
    [
        ["--url"],
        ["--url", "list"],
        ["--json", "settings"],
        ["--url", "http://h", "version"],
        ["add", "m"],
        ["add", "m", "--project", "p"],
        ["add", "--project", "p", "--after", "2h"],
        ["add", "m", "--project", "p", "--after", "2h", "--next-session"],
        ["add", "m", "--project", "p", "--after", "2"],
        ["add", "m", "--project", "p", "--after", "2h", "--priority", "urgent"],
        ["add", "m", "--proj", "p", "--after", "2h"],
        ["list", "--limit", "0"],
        ["list", "--limit", "5", "--all"],
        ["list", "--state", "done"],
        ["show"],
        ["check"],
        ["check", "--project", "p", "--event", "whenever"],
        ["complete", "abcd"],
        ["complete", "abcd", *PROOF, "--hash", "x", "--hash-of", "y"],
        ["snooze", "abcd", "--until", "+2h"],
        ["update", "abcd"],
        ["update", "abcd", "--reason", "r", "--skip", "--acknowledge"],
        ["cancel", "abcd"],
        ["settings"],
        ["settings", "set", "k", "ten"],
        ["settings", "set", "k", "1.0"],
        ["workloads", "stop", "everything"],
        ["workloads", "pause", "all"],
    ],
)
def test_a_wrong_command_line_ends_with_the_usage_code(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(argv)
    assert ended.value.code == exits.USAGE
    assert "--help" in capsys.readouterr().err


def test_the_help_of_update_promises_no_default_that_add_has(capsys: pytest.CaptureFixture[str]) -> None:
    for command, named in (("add", True), ("update", False)):
        with pytest.raises(SystemExit):
            parse([command, "--help"])
        shown = capsys.readouterr().out
        assert ("default: normal" in shown, "default_overdue_seconds" in shown) == (named, named)


def test_the_help_shows_every_command_in_its_group_and_each_explains_itself(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        parse(["--help"])
    shown = capsys.readouterr().out
    for group, commands in GROUPS.items():
        assert f"  {group}:\n" in shown
        for name, text in commands.items():
            assert f"{name:<10} {text}" in shown
            with pytest.raises(SystemExit) as ended:
                parse([name, "--help"])
            assert ended.value.code == exits.OK
            assert f"usage: remindi {name}" in capsys.readouterr().out


# --------------------------------------------------------------------- promises


def said(*options: str) -> dict[str, Any]:
    given = parse(["add", "m", "--project", "p", *options])
    assert isinstance(given, AddArguments)
    return with_goal_link(promise(given, CLOCK))


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        (["--at", "tomorrow 09:00"], {"trigger": {"type": "at_time", "at": "2026-12-01T08:00:00.000Z"}}),
        (["--after", "90m"], {"trigger": {"type": "after_elapsed", "after_seconds": 5_400}}),
        (
            ["--every", "1d"],
            {
                "trigger": {
                    "type": "interval",
                    "first_at": "2026-12-01T10:00:00.000Z",
                    "every_seconds": 86_400,
                },
                "recurrence": {"every_seconds": 86_400},
            },
        ),
        (
            [
                *("--every", "1h", "--first", "today 18:00", "--policy", "skip"),
                *("--times", "5", "--until", "+3d"),
            ],
            {
                "trigger": {
                    "type": "interval",
                    "first_at": "2026-11-30T17:00:00.000Z",
                    "every_seconds": 3_600,
                },
                "recurrence": {
                    "every_seconds": 3_600,
                    "missed_policy": "skip",
                    "max_occurrences": 5,
                    "end_at": "2026-12-03T10:00:00.000Z",
                },
            },
        ),
        (["--next-session"], {"trigger": {"type": "next_session"}}),
        (["--next-continuation", "--lineage", "l"], {"trigger": {"type": "next_continuation"}}),
        (
            ["--goal", "g", "--link", "issue:4711", "--link", "url:https://h:1/x"],
            {
                "trigger": {"type": "goal_active", "goal_id": "g"},
                "links": [
                    {"type": "issue", "value": "4711"},
                    {"type": "url", "value": "https://h:1/x"},
                    {"type": "goal", "value": "g"},
                ],
            },
        ),
        (
            ["--goal", "g", "--link", "goal:g"],
            {
                "trigger": {"type": "goal_active", "goal_id": "g"},
                "links": [{"type": "goal", "value": "g"}],
            },
        ),
        (
            [
                *(
                    "--condition",
                    "http_health",
                    "--param",
                    "target=shop=1",
                    "--param",
                    "expected_status:=204",
                ),
                *("--poll", "5m", "--manual-check", "+1d"),
            ],
            {
                "trigger": {
                    "type": "condition",
                    "adapter": "http_health",
                    "parameters": {"target": "shop=1", "expected_status": 204},
                    "poll_interval_seconds": 300,
                    "manual_check_at": "2026-12-01T10:00:00.000Z",
                }
            },
        ),
        (
            ["--next-session", "--priority", "high", "--grace", "0", "--instructions", ""],
            {
                "trigger": {"type": "next_session"},
                "priority": "high",
                "overdue_after_seconds": 0,
                "instructions": "",
            },
        ),
    ],
)
def test_options_become_fields_that_the_tool_takes(options: list[str], fields: dict[str, Any]) -> None:
    made = said(*options)
    assert made == {"message": "m", **fields}
    assert isinstance(
        read_add({"project_id": "p", "idempotency_key": "key-0001", **made}, CLOCK.now), NewItem
    )


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--at", "soon"], "--at: must be a time"),
        (["--at", "2027-03-28 02:30"], "--at: .* does not exist in Europe/Berlin"),
        (["--at", "+1h", "--first", "+1h"], "--first belongs to --every"),
        (["--at", "+1h", "--times", "3"], "--times belongs to --every"),
        (["--after", "1h", "--param", "a=b"], "--param belongs to --condition"),
        (["--after", "1h", "--manual-check", "+1h"], "--manual-check belongs to --condition"),
        (["--every", "1h", "--first", "never"], "--first"),
        (["--every", "1h", "--until", "never"], "--until"),
        (["--next-continuation"], "--next-continuation needs --lineage"),
        (["--condition", "x", "--param", "novalue"], "--param: must be NAME=TEXT"),
        (["--condition", "x", "--param", "=v"], "--param: must be NAME=TEXT"),
        (["--condition", "x", "--param", "a:=b"], "--param: what follows := must be JSON"),
        (["--next-session", "--link", "issue"], "--link: must be TYPE:VALUE"),
        (["--next-session", "--link", "person:x"], "--link: must be TYPE:VALUE"),
    ],
)
def test_what_does_not_fit_together_is_refused_by_the_name_of_its_option(
    options: list[str], word: str
) -> None:
    with pytest.raises(Refused, match=word) as refused:
        said(*options)
    assert refused.value.code == exits.USAGE


# ---------------------------------------------------------------------- sources


def test_text_is_itself_or_read_from_a_file_or_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "steps").write_text("one\ntwo\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("grüße".encode())))
    assert text_of("--instructions", "itself") == "itself"
    assert text_of("--instructions", f"@{tmp_path}/steps") == "one\ntwo\n"
    assert text_of("--instructions", "-") == "grüße"


def test_a_text_that_cannot_be_read_is_told_by_its_option_and_place(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff")
    (tmp_path / "large").write_bytes(b"x" * (MAX_BYTES + 1))
    for name, why, code in (
        ("missing", "cannot be read: No such file", exits.DATA_DIRECTORY),
        ("bytes", "not valid UTF-8", exits.FAILED),
        ("large", "larger than", exits.FAILED),
    ):
        with pytest.raises(Refused, match=f"--instructions: .*{name} .*{why}") as refused:
            text_of("--instructions", f"@{tmp_path}/{name}")
        assert refused.value.code == code
    with pytest.raises(Refused, match=r"--hash-of: .*missing cannot be read"):
        hash_of("--hash-of", tmp_path / "missing")


def test_metadata_is_a_json_object() -> None:
    assert object_of("--metadata", '{"a": [1]}') == {"a": [1]}
    for text in ("[]", "{", "nothing", "[" * 100_000):
        with pytest.raises(Refused, match="--metadata: must be a JSON object"):
            object_of("--metadata", text)


def test_a_file_is_hashed_as_evidence_takes_it(tmp_path: Path) -> None:
    (tmp_path / "report").write_bytes(b"abc")
    assert hash_of("--hash-of", tmp_path / "report") == (
        "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )
