"""The commands on items, each against a real service: what is stored, what is said, with which code."""

import hashlib
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from remindi.cli import exits
from tests.conftest import MakeService
from tests.process.acts import LONG_AGO, all_items, fresh, new_item
from tests.process.shell import environment, on_terminal, remindi
from tests.service import Json, Service

HOSTILE: Final = "\u202egnp.\u2066 Löschen 日本語"
UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
PROOF: Final = ("--evidence-type", "test_result", "--summary", "The checks of the release passed.")
URI: Final = ("--uri", "https://ci.example.com/runs/1")


@pytest.fixture
def project() -> str:
    return fresh("project")


def stored(service: Service, project: str) -> list[Json]:
    with service.connection() as connection:
        return all_items(connection, project)


def one(service: Service, project: str) -> Json:
    (item,) = stored(service, project)
    return item


def due(service: Service, project: str, **changes: Any) -> str:
    """An item that has become due and, at the second look, overdue; its version is 3."""
    added = service.call(
        "remindi_add", new_item(project, trigger={"type": "at_time", "at": LONG_AGO}, **changes)
    )
    for _ in range(2):
        service.call("remindi_check", {"project_id": project, "lifecycle_event": "checkpoint"})
    return str(added["data"]["remindi"]["id"])


# ------------------------------------------------------------------------- add


def test_add_stores_what_its_options_say(shared_service: Service, project: str) -> None:
    done = remindi(
        shared_service,
        *("add", "Look at the build", "--project", project, "--task", "release", "--at", "2999-12-01 09:00"),
        *("--zone", "Europe/Berlin", "--priority", "high", "--grace", "1d", "--instructions", "-"),
        *("--link", "issue:4711", "--link", "url:https://h.example/x", "--session", "s", "--lineage", "l"),
        given="first this\nthen that\n",
    )
    assert (done.code, done.err) == (exits.OK, "")
    item = one(shared_service, project)
    assert item["id"] == done.id()
    assert item["trigger"] == {"type": "at_time", "at": "2999-12-01T08:00:00.000Z"}
    assert {
        name: item[name]
        for name in (
            "message",
            "task_id",
            "priority",
            "overdue_after_seconds",
            "instructions",
            "source_session_id",
            "source_task_lineage_id",
        )
    } == {
        "message": "Look at the build",
        "task_id": "release",
        "priority": "high",
        "overdue_after_seconds": 86_400,
        "instructions": "first this\nthen that\n",
        "source_session_id": "s",
        "source_task_lineage_id": "l",
    }
    assert item["links"] == [
        {"type": "issue", "value": "4711"},
        {"type": "url", "value": "https://h.example/x"},
    ]
    # What was made of a local time is said back.
    assert "2999-12-01 09:00:00+01:00 (in " in done.out


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        (["--after", "2h"], "after_elapsed"),
        (["--every", "1d", "--first", "tomorrow 09:00", "--policy", "skip"], "interval"),
        (["--next-session"], "next_session"),
        (["--next-continuation", "--lineage", "l"], "next_continuation"),
        (["--goal", "g"], "goal_active"),
        (
            ["--condition", "tcp_reachable", "--param", "target=db", "--manual-check", "+1d"],
            "condition",
        ),
    ],
)
def test_add_knows_every_trigger(
    shared_service: Service, project: str, options: list[str], kind: str
) -> None:
    done = remindi(shared_service, "add", "later", "--project", project, *options)
    assert done.code == exits.OK, done
    assert one(shared_service, project)["trigger"]["type"] == kind
    _, message, coming = done.out.splitlines()
    assert message == "  later"
    assert coming.startswith("  It comes back ")


def test_warnings_go_to_standard_error_and_into_the_json(shared_service: Service, project: str) -> None:
    options = ("--condition", "tcp_reachable", "--param", "target=db", "--manual-check", "+1d", "--json")
    done = remindi(shared_service, "add", "later", "--project", project, *options)
    assert len(done.json()["warnings"]) == 2
    assert done.err.count("remindi: ") == 2


def test_the_same_key_is_one_item_and_another_request_under_it_is_refused(
    shared_service: Service, project: str
) -> None:
    line = ("add", "once", "--project", project, "--next-session", "--key", fresh("key"), "--json")
    first, second = remindi(shared_service, *line), remindi(shared_service, *line)
    assert first.json() == second.json()
    other = remindi(shared_service, *line, "--priority", "low")
    assert other.code == exits.FAILED
    assert other.json()["error"]["code"] == "IDEMPOTENCY_KEY_REUSED"
    assert len(stored(shared_service, project)) == 1


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--after", "400d"], "remindi: --after: must be 1s to 52w1d\n"),
        (["--every", "30s"], "remindi: --every: must be 1m to 52w1d\n"),
        (
            ["--next-session", "--link", "issue:1", "--link", "issue:1"],
            "remindi: --link: stands there twice\n",
        ),
        (["--next-session", "--task", " "], "remindi: --task: must not be blank\n"),
        (["--next-session", "--instructions", "\x1b[2J"], "remindi: --instructions: must not hold control"),
        (["--condition", "ping", "--param", "a=b"], "remindi: There is no such adapter"),
        (["--condition", "tcp_reachable", "--param", "target=a"], "remindi: The adapter is disabled."),
        (
            ["--condition", "tcp_reachable", "--param", "host=a", "--manual-check", "+1d"],
            "remindi: --param target: tcp_reachable takes target=ALIAS\nremindi: --param host: ",
        ),
        (["--every", "1h", "--until", "2000-01-01 00:00"], "remindi: --until: must not lie before --first\n"),
    ],
)
def test_a_refusal_names_the_option_and_its_rule(
    shared_service: Service, project: str, options: list[str], line: str
) -> None:
    done = remindi(shared_service, "add", "later", "--project", project, *options)
    assert (done.code, done.out) == (exits.FAILED, "")
    assert done.err.startswith(line), done
    assert stored(shared_service, project) == []


# -------------------------------------------------------------- list and check


def test_list_walks_pages_and_says_when_there_is_more(shared_service: Service, project: str) -> None:
    with shared_service.connection() as connection:
        ids = [connection.call("remindi_add", new_item(project))["data"]["remindi"]["id"] for _ in range(205)]
    whole = remindi(shared_service, "list", "--project", project, "--all", "--json").json()
    assert [item["id"] for item in whole["items"]] == ids[::-1]
    assert whole["next_cursor"] is None
    some = remindi(shared_service, "list", "--project", project, "--limit", "203")
    assert len(some.out.splitlines()) == 204
    assert some.err == "remindi: There are more; --all shows all of them.\n"
    assert len(remindi(shared_service, "list", "--project", project).out.splitlines()) == 51


def test_list_filters(shared_service: Service, project: str) -> None:
    other = fresh("project")
    ready = due(shared_service, project, task_id="t", links=[{"type": "memory", "value": "m"}])
    later = shared_service.call("remindi_add", new_item(project, trigger={"type": "next_session"}))
    shared_service.call("remindi_add", new_item(other))
    later_id = later["data"]["remindi"]["id"]
    for options, expected in (
        ([], [later_id, ready]),
        (["--state", "overdue"], [ready]),
        (["--state", "active"], [later_id, ready]),
        (["--state", "completed"], []),
        (["--task", "t"], [ready]),
        (["--trigger", "next_session"], [later_id]),
        (["--linked-memory", "m"], [ready]),
        (["--linked-goal", "m"], []),
    ):
        done = remindi(shared_service, "list", "--project", project, "--json", *options)
        assert [item["id"] for item in done.json()["items"]] == expected, options
    empty = remindi(shared_service, "list", "--project", project, "--state", "cancelled")
    assert (empty.code, empty.out) == (exits.OK, "There are no such items.\n")


def test_check_tells_what_is_ready_and_makes_it_so(shared_service: Service, project: str) -> None:
    assert remindi(shared_service, "check", "--project", project).out == "Nothing is ready.\n"
    shared_service.call("remindi_add", new_item(project, trigger={"type": "next_session"}, message="resume"))
    shared_service.call("remindi_add", new_item(project, message="far ahead"))
    goal = {"trigger": {"type": "goal_active", "goal_id": "g"}, "links": [{"type": "goal", "value": "g"}]}
    shared_service.call("remindi_add", new_item(project, message="goal", **goal))
    done = remindi(
        shared_service,
        "check",
        "--project",
        project,
        "--session",
        "new",
        "--event",
        "task_start",
        "--goal",
        "g",
    )
    assert re.findall(r"(due|scheduled) .*  (\S+)$", done.out, re.MULTILINE) == [
        ("due", "resume"),
        ("due", "goal"),
    ]
    whole = remindi(shared_service, "check", "--project", project, "--scheduled", "--json").json()
    assert [item["readiness"] for item in whole["items"]] == ["overdue", "overdue", "scheduled"]
    assert whole["next_cursor"] is None
    assert whole["checked_at"].endswith("Z")


# ---------------------------------------------------------- show and history


def test_show_tells_an_item_whole(shared_service: Service, project: str) -> None:
    remindi_id = due(
        shared_service,
        project,
        message="Nightly report",
        instructions="first\nsecond",
        links=[{"type": "issue", "value": "77"}],
        overdue_after_seconds=90,
    )
    done = remindi(shared_service, "show", remindi_id, "--zone", "Asia/Kolkata")
    facts = dict(line.split(None, 1) for line in done.out.splitlines() if not line.startswith(" "))
    assert facts["message"] == "Nightly report"
    assert facts["id"] == remindi_id
    assert facts["state"] == "overdue"
    assert facts["grace"] == "1m30s"
    assert facts["link"] == "issue:77"
    assert facts["trigger"].startswith("at 2020-01-01 05:30:00+05:30 (")
    assert re.search(r"^instructions +first\n +second$", done.out, re.MULTILINE)
    item = remindi(shared_service, "show", remindi_id, "--json").json()["remindi"]
    assert item == one(shared_service, project)


def test_an_item_is_meant_by_the_end_of_its_id(shared_service: Service, project: str) -> None:
    remindi_id = due(shared_service, project)
    for given in (remindi_id[-8:], remindi_id[-5:].upper(), remindi_id.replace("-", ""), f"{{{remindi_id}}}"):
        done = remindi(shared_service, "show", given, "--project", project, "--json")
        assert done.json()["remindi"]["id"] == remindi_id


@pytest.mark.parametrize("given", ["abc", "nonsense", "", "0123456789abc", "%"])
def test_what_is_no_id_is_a_wrong_command_line(shared_service: Service, given: str) -> None:
    done = remindi(shared_service, "show", given)
    assert done.code == exits.USAGE
    assert "ID: must be" in done.err


def test_an_end_of_no_id_or_of_several_is_refused_with_what_there_is(
    shared_service: Service, project: str
) -> None:
    missing = remindi(shared_service, "show", "0000", "--project", project)
    assert missing.code == exits.FAILED
    assert f"No item of {project} ends with 0000" in missing.err
    # Two ids of one end: as many items as it takes for four digits to meet.
    with shared_service.connection() as connection:
        ends: dict[str, str] = {}
        while True:
            added = connection.call("remindi_add", new_item(project))["data"]["remindi"]["id"]
            if added[-4:] in ends:
                break
            ends[added[-4:]] = added
    done = remindi(shared_service, "cancel", added[-4:], "--reason", "r", "--project", project)
    assert done.code == exits.FAILED
    assert added in done.err
    assert ends[added[-4:]] in done.err
    assert all(item["state"] == "scheduled" for item in stored(shared_service, project))


def test_history_tells_every_event_and_the_evidence(shared_service: Service, project: str) -> None:
    remindi_id = due(shared_service, project)
    remindi(shared_service, "snooze", remindi_id, "--until", "+2h", "--reason", "not now")
    remindi(shared_service, "complete", remindi_id, *PROOF, *URI)
    done = remindi(shared_service, "history", remindi_id)
    events = [line.split("  ") for line in done.out.split("\n\n")[0].splitlines()[1:]]
    names = ["created", "became_due", "became_overdue", "snoozed", "completed"]
    assert [[cell.strip() for cell in row if cell.strip()][2] for row in events] == names
    assert "not now" in done.out
    assert "test_result: The checks of the release passed." in done.out
    few = remindi(shared_service, "history", remindi_id, "--limit", "2", "--json")
    assert [event["event_type"] for event in few.json()["events"]] == names[:2]
    assert few.json()["next_cursor"] is not None
    only = remindi(shared_service, "history", remindi_id, "--event", "snoozed", "--json")
    assert [event["event_type"] for event in only.json()["events"]] == ["snoozed"]
    unknown = remindi(shared_service, "history", "00000000-0000-7000-8000-000000000000", "--json")
    assert unknown.code == exits.FAILED
    assert unknown.json()["error"]["code"] == "NOT_FOUND"
    assert unknown.err == "remindi: There is no item of this id (of this owner).\n"


# --------------------------------------------------------------------- changes


def test_complete_stores_the_evidence(shared_service: Service, project: str, tmp_path: Path) -> None:
    remindi_id = due(shared_service, project)
    (tmp_path / "report").write_bytes(b"all green")
    done = remindi(
        shared_service,
        *("complete", remindi_id, *PROOF, "--hash-of", str(tmp_path / "report"), "--note", "at last"),
        *("--observed", "2026-11-30 10:00", "--metadata", '{"runs": [1, 2]}'),
    )
    assert done.code == exits.OK, done
    assert done.out.startswith(f"Completed {remindi_id}: completed, version 4.\n")
    told = shared_service.call("remindi_history", {"remindi_id": remindi_id})["data"]
    (record,) = told["completion_evidence"]
    assert record["content_hash"] == f"sha256:{hashlib.sha256(b'all green').hexdigest()}"
    assert record["observed_at"] == "2026-11-30T10:00:00.000Z"
    assert record["metadata"] == {"runs": [1, 2]}
    assert told["events"][-1]["details"]["completion_note"] == "at last"
    assert re.search("^note +at last$", remindi(shared_service, "show", remindi_id).out, re.MULTILINE)


def test_a_bare_claim_and_missing_proof_are_refused_in_words(shared_service: Service, project: str) -> None:
    remindi_id = due(shared_service, project)
    bare = remindi(
        shared_service, "complete", remindi_id, "--evidence-type", "observation", "--summary", "done", *URI
    )
    assert bare.code == exits.FAILED
    assert bare.err.startswith("remindi: --summary: says only that it is done")
    unproven = remindi(shared_service, "complete", remindi_id, *PROOF)
    assert unproven.code == exits.FAILED
    assert "needs --uri, --hash or --hash-of" in unproven.err


def test_snooze_puts_off_only_what_is_due(shared_service: Service, project: str) -> None:
    remindi_id = due(shared_service, project)
    done = remindi(shared_service, "snooze", remindi_id, "--until", "2999-01-01 00:00", "--reason", "r")
    assert done.err == "remindi: --until: lies farther ahead than the service allows\n"
    done = remindi(shared_service, "snooze", remindi_id, "--until", "+2h", "--reason", "r", "--json")
    assert done.json()["remindi"] == {"id": remindi_id, "state": "snoozed", "version": 4}
    again = remindi(shared_service, "snooze", remindi_id, "--until", "+2h", "--reason", "r")
    assert again.code == exits.FAILED
    assert again.err.startswith("remindi: It is snoozed: only due and overdue items can be snoozed")


def test_update_changes_only_what_is_named(shared_service: Service, project: str) -> None:
    remindi_id = due(shared_service, project, instructions="how", links=[{"type": "issue", "value": "1"}])
    before = one(shared_service, project)
    changed = remindi(
        shared_service, "update", remindi_id, "--reason", "r", "--message", "new", "--priority", "low"
    )
    assert changed.code == exits.OK, changed
    after = one(shared_service, project)
    assert (after["message"], after["priority"], after["version"]) == ("new", "low", 4)
    assert (after["trigger"], after["links"], after["instructions"]) == (
        before["trigger"],
        before["links"],
        before["instructions"],
    )
    remindi(shared_service, "update", remindi_id, "--reason", "r", "--no-instructions", "--no-links")
    assert (one(shared_service, project)["instructions"], one(shared_service, project)["links"]) == (None, [])
    moved = remindi(shared_service, "update", remindi_id, "--reason", "r", "--every", "1h", "--first", "+1h")
    assert "It comes back at " in moved.out
    assert one(shared_service, project)["recurrence"]["every_seconds"] == 3_600
    stuck = remindi(shared_service, "update", remindi_id, "--reason", "r", "--at", "+1h")
    assert "--no-recurrence" in stuck.err
    once = remindi(shared_service, "update", remindi_id, "--reason", "r", "--at", "+1h", "--no-recurrence")
    assert once.code == exits.OK, once
    nothing = remindi(shared_service, "update", remindi_id, "--reason", "r")
    assert nothing.err == "remindi: nothing is to be changed; name at least one thing, such as --message\n"


def test_update_goes_on_to_the_next_occurrence(shared_service: Service, project: str) -> None:
    every = {"trigger": {"type": "interval", "first_at": LONG_AGO, "every_seconds": 86_400}}
    added = shared_service.call(
        "remindi_add", new_item(project, recurrence={"every_seconds": 86_400}, **every)
    )
    remindi_id = added["data"]["remindi"]["id"]
    remindi(shared_service, "check", "--project", project)
    done = remindi(shared_service, "update", remindi_id, "--reason", "seen", "--acknowledge")
    assert done.code == exits.OK, done
    item = one(shared_service, project)
    assert item["state"] == "scheduled"
    assert f"  Occurrence {item['occurrence_no']} comes back at " in done.out


def test_what_contradicts_itself_is_refused_before_anything_is_sent(shared_service: Service) -> None:
    for options in (
        ("--link", "goal:g", "--no-links"),
        ("--instructions", "x", "--no-instructions"),
        ("--every", "1h", "--no-recurrence"),
    ):
        done = remindi(shared_service, "update", "abcd", "--reason", "r", *options)
        assert done.code == exits.USAGE
        assert "not together with" in done.err


def test_cancel_ends_an_item_for_good(shared_service: Service, project: str) -> None:
    remindi_id = due(shared_service, project)
    assert remindi(shared_service, "cancel", remindi_id[-6:], "--reason", "obsolete").code == exits.OK
    assert one(shared_service, project)["state"] == "cancelled"
    again = remindi(shared_service, "cancel", remindi_id, "--reason", "obsolete")
    assert (again.code, again.err) == (
        exits.FAILED,
        "remindi: It is cancelled: ended items stay as they are.\n",
    )
    # An end is looked for among what can still be changed, then among the others.
    short = ("cancel", remindi_id[-6:], "--reason", "obsolete", "--project", project)
    assert remindi(shared_service, *short) == again


def test_a_version_that_is_not_the_present_one_changes_nothing(shared_service: Service, project: str) -> None:
    remindi_id = due(shared_service, project)
    done = remindi(shared_service, "cancel", remindi_id, "--reason", "r", "--version", "2")
    assert done.code == exits.FAILED
    assert "it is at version 3 now, not at 2; nothing was done" in done.err
    assert f"`remindi show {remindi_id}`" in done.err
    assert one(shared_service, project)["state"] == "overdue"
    assert remindi(shared_service, "cancel", remindi_id, "--reason", "r", "--version", "3").code == exits.OK


def test_an_id_of_nobody_is_told(shared_service: Service) -> None:
    unknown = "00000000-0000-7000-8000-000000000000"
    for line in (
        ("show", unknown),
        ("cancel", unknown, "--reason", "r"),
        ("cancel", unknown, "--reason", "r", "--version", "1"),
    ):
        done = remindi(shared_service, *line)
        assert done.code == exits.FAILED
        assert "There is no item" in done.err


# -------------------------------------------------------------------- terminal


def test_on_a_terminal_the_table_fits_and_ids_are_short(shared_service: Service, project: str) -> None:
    remindi_id = due(
        shared_service, project, message="A message that is longer than any narrow terminal " * 3
    )
    for columns in (120, 80, 50, 30, 12, 5):
        lines = on_terminal(shared_service, columns, "list", "--project", project)
        plain = [re.sub(r"\x1b\[[0-9]+m", "", line) for line in lines]
        assert len(plain) == 2
        assert all(len(line) <= columns for line in plain), plain
    wide = on_terminal(shared_service, 120, "list", "--project", project)[1]
    assert wide.startswith(f"{remindi_id[-8:]}  \x1b[31moverdue\x1b[0m")
    assert wide.endswith("…")
    assert "\x1b" not in on_terminal(shared_service, 120, "list", "--project", project, NO_COLOR="1")[1]
    assert "\x1b" not in on_terminal(shared_service, 120, "list", "--project", project, TERM="dumb")[1]


def test_through_a_pipe_nothing_is_cut_or_coloured(shared_service: Service, project: str) -> None:
    message = "A message that is longer than any narrow terminal " * 3
    remindi_id = due(shared_service, project, message=message)
    line = remindi(shared_service, "list", "--project", project, COLUMNS="20").out.splitlines()[1]
    assert line.startswith(remindi_id)
    assert line.endswith(message.strip())


def test_hostile_text_is_shown_and_not_obeyed(shared_service: Service, project: str) -> None:
    remindi_id = due(shared_service, project, message=f"{HOSTILE}\nID  forged", instructions=f"a\n{HOSTILE}")
    for command in (
        ("list", "--project", project),
        ("check", "--project", project),
        ("show", remindi_id),
        ("cancel", remindi_id, "--reason", HOSTILE),
        ("history", remindi_id),
    ):
        done = remindi(shared_service, *command)
        assert done.code == exits.OK, done
        assert not set(done.out) & {"\u202e", "\u2066", "\x1b", "\r"}, command
        assert "\nID  forged" not in done.out
        if command[0] not in ("show", "history"):
            assert r"\u202egnp.\u2066 Löschen 日本語\nID  forged" in done.out


def test_text_that_the_terminal_cannot_write_is_escaped(shared_service: Service, project: str) -> None:
    due(shared_service, project, message="日本語")
    done = remindi(shared_service, "list", "--project", project, PYTHONIOENCODING="ascii")
    assert done.code == exits.OK
    assert r"\u65e5\u672c\u8a9e" in done.out


def test_bytes_that_are_no_text_are_refused_before_they_are_sent(
    shared_service: Service, project: str
) -> None:
    done = remindi(shared_service, "add", "\udcff", "--project", project, "--next-session")
    assert (done.code, done.err) == (exits.USAGE, "remindi: What was given is not valid UTF-8.\n")
    assert stored(shared_service, project) == []


def test_json_is_one_line_that_keeps_every_character(shared_service: Service, project: str) -> None:
    due(shared_service, project, message=HOSTILE)
    done = remindi(shared_service, "list", "--project", project, "--json")
    assert done.json()["items"][0]["message"] == HOSTILE
    elsewhere = remindi(shared_service, "list", "--project", project, "--json", PYTHONIOENCODING="ascii")
    assert elsewhere.json() == done.json()


def test_an_output_that_is_closed_or_full_is_no_traceback(shared_service: Service, project: str) -> None:
    due(shared_service, project)
    line = [sys.executable, "-m", "remindi", "list", "--project", project]
    env = environment(shared_service, None, {})
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        done = subprocess.run(
            line, env=env, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60
        )
    assert done.returncode == exits.DATA_DIRECTORY
    assert done.stderr == "remindi: standard output cannot be written: No space left on device.\n"
    with subprocess.Popen(line, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == exits.OK


# ------------------------------------------------------------------ the service


def test_a_wrong_token_is_told_with_where_it_came_from(shared_service: Service, tmp_path: Path) -> None:
    wrong = remindi(shared_service, "list", REMINDI_MCP_TOKEN="another-token-of-nobody")
    assert wrong.code == exits.NOT_PERMITTED
    assert "REMINDI_MCP_TOKEN in the environment" in wrong.err
    assert "another-token" not in wrong.err
    (tmp_path / "x.env").write_text("REMINDI_MCP_TOKEN=a-token-of-a-file\n")
    of_file = remindi(shared_service, "list", "--env-file", str(tmp_path / "x.env"), REMINDI_MCP_TOKEN=None)
    assert of_file.code == exits.NOT_PERMITTED
    assert f"REMINDI_MCP_TOKEN in {tmp_path}/x.env" in of_file.err
    none = remindi(shared_service, "list", REMINDI_MCP_TOKEN=None)
    assert none.code == exits.CONFIGURATION


def test_no_service_is_told_with_how_to_start_one(make_service: MakeService) -> None:
    done = remindi(make_service(), "list")
    assert done.code == exits.UNAVAILABLE
    assert "`remindi serve`" in done.err
    assert "--url" in done.err


def test_the_address_may_be_the_one_that_clients_are_given(shared_service: Service, project: str) -> None:
    done = remindi(shared_service, "list", "--project", project, "--url", shared_service.url, port=9)
    assert done.code == exits.OK, done


# --------------------------------------------------------------- documentation


def test_the_examples_of_the_readme_can_be_tried(service: Service) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    section = readme.partition("## From the command line\n")[2].partition("\n## ")[0]
    lines = [
        line for block in re.findall(r"```sh\n(.*?)```", section, re.DOTALL) for line in block.splitlines()
    ]
    assert len(lines) > 12
    (service.root / "report.json").write_text("{}")
    remindi_id = ""
    for line in lines:
        command, *arguments = shlex.split(line)
        assert command == "remindi"
        if arguments[0] == "snooze":
            moved = remindi(service, "update", remindi_id, "--reason", "r", "--at", "2020-01-01 00:00")
            assert moved.code == remindi(service, "check", "--project", "shop").code == exits.OK
        done = remindi(service, *(argument.replace("30e34fc7", remindi_id[-8:]) for argument in arguments))
        assert done.code == exits.OK, (line, done)
        if arguments[0] == "add":
            remindi_id = remindi_id or done.id()
