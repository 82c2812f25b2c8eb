"""Backups through the API: who may do what, in which order it is said, and what is shown meanwhile."""

from collections.abc import Callable
from typing import Any

import pytest

from actors.messages.backups import CreateBackup, RestoreBackup, Restored, VerifyBackup
from actors.messages.readers import ListItems
from actors.messages.writer import RecordBackup
from remindi.backups import (
    AutomaticFailure,
    BackupRecord,
    BackupsState,
    Job,
    PhaseReached,
    RestoreState,
    Source,
    Status,
)
from remindi.errors import ErrorCode, Refusal
from tests.fakes.api import HOST, ORIGIN, RECORD, Answered, Browser, House
from tests.http.api.conftest import MakeHouse
from tests.http.api.walks import ITEM

OPERATION = bytes.fromhex("0190aaaabbbb7cccadddeeeeffff0003")
BACKUP = "0190aaaa-bbbb-7ccc-addd-eeeeffff0002"
CONFIRMED = {"confirmation": "RESTORE REMINDI"}
STATE = RestoreState(
    operation_id=OPERATION,
    backup_id=RECORD.id,
    outcome="running",
    rolled_back=False,
    reason=None,
    pre_restore_id=None,
    phases=(PhaseReached("requested", 1_800_000_000_000),),
    started_at=1_800_000_000_000,
    ended_at=None,
)


def restore(browser: Browser, body: Any = CONFIRMED, backup: str = BACKUP) -> Answered:
    return browser.post(f"/backups/{backup}/restore", body)


def store(home: House, *records: BackupRecord) -> None:
    for record in records:
        home.core.write(RecordBackup(record=record, event_type=None, retains=False))


def prove_late(home: House) -> None:
    """Let the sign-in be too long ago for a restore."""
    home.core.clock.advance(300.001)


# ------------------------------------------------------------- made and listed


def test_a_backup_is_made_and_shown_whole(browser: Browser) -> None:
    answered = browser.post("/backups")
    assert answered.status == 201
    assert answered.data == {
        "id": BACKUP,
        "file_name": f"remindi-{BACKUP}.sqlite3",
        "source": "manual",
        "status": "ready",
        "sha256": "ab" * 32,
        "size_bytes": 8_192,
        "schema_version": 3,
        "created_at": "2027-01-15T08:00:00.000Z",
        "verified_at": "2027-01-15T08:00:01.000Z",
        "created_by": "webui:somebody",
        "details": {},
    }
    (asked,) = browser.house.backups.asked
    assert isinstance(asked, CreateBackup)
    assert asked.caller is not None
    assert asked.caller.request_id == answered.header("X-Request-Id")


def test_a_backup_takes_no_body(browser: Browser) -> None:
    assert browser.post("/backups", {}).errors == [("", "unknown_field")]
    assert browser.house.backups.asked == []


def test_backups_are_listed_the_newest_first(browser: Browser) -> None:
    old = RECORD._replace(id=OPERATION, created_at=1, status=Status.INVALID, source=Source.AUTOMATIC)
    store(browser.house, old, RECORD)
    listed = browser.get("/backups").data
    assert [(row["created_at"], row["status"], row["source"]) for row in listed] == [
        ("2027-01-15T08:00:00.000Z", "ready", "manual"),
        ("1970-01-01T00:00:00.001Z", "invalid", "automatic"),
    ]


def test_a_backup_is_checked_on_demand(browser: Browser) -> None:
    browser.house.backups.script[VerifyBackup] = lambda _: RECORD._replace(verified_at=1_800_000_009_000)
    assert browser.post(f"/backups/{BACKUP}/verify").data["verified_at"] == "2027-01-15T08:00:09.000Z"


@pytest.mark.parametrize("action", ["verify", "restore"])
def test_an_id_that_is_none_is_told_and_audited(browser: Browser, action: str) -> None:
    body = CONFIRMED if action == "restore" else None
    answered = browser.post(f"/backups/nonsense/{action}", body)
    assert (answered.status, answered.errors) == (400, [("/id", "format")])
    kind = {"verify": "backup_verified", "restore": "restore_started"}[action]
    assert browser.house.audit()[-1] == (kind, "rejected", {"failure_code": "VALIDATION_ERROR"})
    assert browser.house.backups.asked == []


def test_a_reason_of_the_controller_is_shown(browser: Browser) -> None:
    refusal = Refusal(ErrorCode.BACKUP_INVALID, reason="Its file is gone.")
    browser.house.backups.script[VerifyBackup] = lambda _: refusal
    answered = browser.post(f"/backups/{BACKUP}/verify")
    assert (answered.status, answered.code) == (400, "BACKUP_INVALID")
    assert answered.json()["error"]["details"] == {"reason": "Its file is gone."}


def test_a_damaged_database_gives_and_takes_backups(browser: Browser) -> None:
    browser.house.board.startup = "damaged"
    browser.house.backups.script[RestoreBackup] = lambda _: Restored(OPERATION, RECORD.id)
    assert browser.post("/backups").status == 201
    assert restore(browser).status == 200


# ------------------------------------------------------------ guards of a restore


def test_a_restore_says_what_it_restored(browser: Browser) -> None:
    browser.house.backups.script[RestoreBackup] = lambda _: Restored(OPERATION, RECORD.id)
    assert restore(browser).data == {
        "operation_id": "0190aaaa-bbbb-7ccc-addd-eeeeffff0003",
        "backup_id": BACKUP,
        "restored": True,
        "rolled_back": False,
    }


def test_the_guards_of_a_restore_stand_in_their_order(home: House) -> None:
    path = f"/api/v1/backups/{BACKUP}/restore"
    browser = home.signed_in()
    bad = [("Content-Type", "application/json"), ("Content-Length", "1")]

    def sent(headers: list[tuple[str, str]]) -> tuple[int, str | None]:
        answered = browser.send("POST", path, [*headers, *bad], b"{")
        return answered.status, answered.code

    # Each is told although everything behind it is wrong as well.
    prove_late(home)
    assert sent([("Host", HOST), ("Origin", ORIGIN)]) == (401, "UNAUTHENTICATED")
    assert sent(browser.headers(without=["X-CSRF-Token"])) == (403, "CSRF_REJECTED")
    assert sent(browser.headers()) == (401, "REAUTHENTICATION_REQUIRED")
    assert browser.post("/auth/reauthenticate", {"password": "correct horse"}).status == 200
    assert sent(browser.headers()) == (400, "VALIDATION_ERROR")
    assert restore(browser, {"confirmation": "x", "other": 1}, "x").errors == [("/other", "unknown_field")]
    assert restore(browser, {"confirmation": "x"}, "x").errors == [("/confirmation", "confirmation")]
    assert restore(browser, CONFIRMED, "x").errors == [("/id", "format")]
    assert home.backups.asked == []
    assert restore(browser).code == "NOT_FOUND"


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({}, [("/confirmation", "required")]),
        ({"confirmation": None}, [("/confirmation", "null_not_allowed")]),
        ({"confirmation": 1}, [("/confirmation", "type")]),
        ([], [("", "type")]),
        *(
            ({"confirmation": phrase}, [("/confirmation", "confirmation")])
            for phrase in ("", "restore remindi", "RESTORE REMINDI ", "RESTORE  REMINDI", "RESTORE\nREMINDI")
        ),
    ],
)
def test_only_the_exact_phrase_confirms(browser: Browser, body: Any, errors: list[Any]) -> None:
    answered = restore(browser, body)
    assert (answered.status, answered.errors) == (400, errors)
    assert browser.house.backups.asked == []
    assert browser.house.audit()[-1] == (
        "restore_started",
        "rejected",
        {"backup_id": BACKUP, "failure_code": "VALIDATION_ERROR"},
    )


def test_a_proof_is_fresh_for_300_seconds_and_no_longer(home: House) -> None:
    browser = home.signed_in()
    home.core.clock.advance(300)
    assert restore(browser).code == "NOT_FOUND"
    home.core.clock.advance(0.001)
    assert restore(browser).code == "REAUTHENTICATION_REQUIRED"
    assert home.audit()[-1] == (
        "restore_started",
        "rejected",
        {"backup_id": BACKUP, "failure_code": "REAUTHENTICATION_REQUIRED"},
    )


def test_a_restore_without_proof_and_without_json_leaves_no_row(home: House) -> None:
    browser = home.signed_in()
    prove_late(home)
    before = home.audit()
    assert browser.post(f"/backups/{BACKUP}/restore", b"{").code == "REAUTHENTICATION_REQUIRED"
    assert home.audit() == before


def test_without_authentication_the_proof_has_a_cookie_of_its_own(make_house: MakeHouse) -> None:
    home = make_house(webui_auth=False)
    browser = home.browser(host="localhost:8000")
    browser.csrf = browser.get("/session").data["csrf_token"]
    assert restore(browser).code == "REAUTHENTICATION_REQUIRED"
    browser.keep(browser.post("/auth/reauthenticate", {"password": "correct horse"}))
    assert restore(browser).code == "NOT_FOUND"


def test_a_second_restore_is_a_conflict_and_not_maintenance(browser: Browser) -> None:
    browser.house.board.maintenance = "paused"
    browser.house.backups.script[RestoreBackup] = lambda _: Refusal(ErrorCode.WORKLOAD_CONFLICT)
    answered = restore(browser)
    assert (answered.status, answered.code) == (409, "WORKLOAD_CONFLICT")


def test_what_waits_for_the_controller_holds_up_nobody_else(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:
        def acquire(self, *, blocking: bool) -> bool:
            return blocking

    monkeypatch.setattr("web.api.call._waiting", Full())
    answered = browser.post("/backups")
    assert (answered.status, answered.code) == (503, "DATABASE_BUSY")
    assert restore(browser).code == "NOT_FOUND"
    assert browser.get("/backups").status == 200


# -------------------------------------------------------------------- maintenance


def test_the_latest_restore_shows_while_the_database_is_closed(browser: Browser) -> None:
    assert browser.get("/restores/latest").code == "NOT_FOUND"
    board = browser.house.board
    board.restore, board.maintenance = STATE, "draining"
    assert browser.get("/restores/latest").data == {
        "maintenance": "draining",
        "restore": {
            "operation_id": "0190aaaa-bbbb-7ccc-addd-eeeeffff0003",
            "backup_id": BACKUP,
            "outcome": "running",
            "rolled_back": False,
            "reason": None,
            "pre_restore_backup_id": None,
            "phases": [{"phase": "requested", "at": "2027-01-15T08:00:00.000Z"}],
            "started_at": "2027-01-15T08:00:00.000Z",
            "ended_at": None,
        },
    }


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/remindi"), ("GET", "/backups"), ("POST", "/backups"), ("GET", "/overview")]
)
def test_a_service_that_is_held_closed_says_so(browser: Browser, method: str, path: str) -> None:
    browser.house.board.maintenance = "held"
    answered = browser.request(method, path)
    assert (answered.status, answered.code) == (503, "MAINTENANCE_ACTIVE")
    assert answered.json()["error"]["details"] == {"reason": "restore_rollback_failed"}
    assert answered.header("Retry-After") == "1"


def test_a_service_that_is_held_closed_takes_no_restore(browser: Browser) -> None:
    browser.house.board.maintenance = "held"
    assert restore(browser).json()["error"]["details"] == {"reason": "restore_rollback_failed"}
    assert browser.house.backups.asked == []


def test_a_refusal_during_maintenance_has_its_row_later(browser: Browser) -> None:
    home = browser.house
    home.board.maintenance = "paused"
    before = home.audit()
    assert restore(browser, {}).status == 400
    (postponed,) = home.backups.postponed
    assert postponed.record.event_type == "restore_started"
    assert home.audit() == before


# --------------------------------------------------------------------- generations


def replacing(home: House, monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Let something happen right after the reader has answered a list."""
    call = type(home.core.reader).call

    def reads(address: Any, message: Any, *, timeout: float) -> Any:
        answer = call(address, message, timeout=timeout)
        if isinstance(message, ListItems):
            act()
        return answer

    monkeypatch.setattr(type(home.core.reader), "call", reads)


def test_an_answer_that_a_restore_has_overtaken_is_none(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act() -> None:
        browser.house.board.generation = b"another"

    replacing(browser.house, monkeypatch, act)
    answered = browser.get("/remindi")
    assert (answered.status, answered.code) == (503, "MAINTENANCE_ACTIVE")
    assert browser.get("/remindi").status == 200


def test_an_answer_in_the_middle_of_a_restore_is_none(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act() -> None:
        browser.house.board.maintenance = "draining"

    replacing(browser.house, monkeypatch, act)
    assert browser.get("/remindi").code == "MAINTENANCE_ACTIVE"


def test_a_cursor_of_before_a_restore_is_refused(browser: Browser) -> None:
    board = browser.house.board
    for number in range(3):
        body = {
            "idempotency_key": f"key-of-{number}",
            "project_id": "p",
            "message": "m",
            "trigger": {"type": "at_time", "at": "2020-01-01T00:00:00Z"},
        }
        assert browser.post("/remindi", body).status == 200
    board.generation = b"one"
    cursor = browser.get("/remindi?limit=1").data["next_cursor"]
    check = {"project_id": "p", "lifecycle_event": "checkpoint", "limit": 1}
    checked = browser.post("/remindi/check", check).data["next_cursor"]
    assert browser.get(f"/remindi?limit=1&cursor={cursor}").status == 200
    board.generation = b"two"
    assert browser.get(f"/remindi?limit=1&cursor={cursor}").errors == [("/cursor", "cursor")]
    assert browser.post("/remindi/check", {**check, "cursor": checked}).errors == [("/cursor", "cursor")]
    history = browser.get(f"/remindi/{ITEM}/history?cursor={cursor}")
    assert history.errors == [("/cursor", "cursor")]


# ------------------------------------------------------------------------ overview


def test_the_overview_shows_the_newest_backup_and_the_last_one_that_is_proven(browser: Browser) -> None:
    home = browser.house
    now = home.core.clock.now()
    proven = RECORD._replace(id=OPERATION, created_at=1, verified_at=now - 61_500, items=7)
    gone = RECORD._replace(
        id=OPERATION[:-1] + b"\x09", status=Status.EXPIRED, created_at=now, verified_at=now
    )
    newest = RECORD._replace(created_at=now - 1, verified_at=now - 90_000)
    store(home, proven, newest, gone)
    home.board.backups = BackupsState(
        job=Job("automatic", "copying", 4, 10),
        next_automatic_at=1_800_000_000_000,
        failure=AutomaticFailure(1_800_000_000_000, "The disk is full.", 1_800_000_300_000),
    )
    shown = browser.get("/overview").data
    assert shown["maintenance"] == "running"
    assert shown["backups"]["newest"]["id"] == BACKUP
    assert shown["backups"]["last_verified"]["id"] == "0190aaaa-bbbb-7ccc-addd-eeeeffff0003"
    assert shown["backups"]["last_verified"]["age_seconds"] == 61
    assert shown["backups"]["last_verified"]["items"] == 7
    assert shown["backups"]["next_automatic_at"] == "2027-01-15T08:00:00.000Z"
    assert shown["backups"]["failure"] == {
        "at": "2027-01-15T08:00:00.000Z",
        "reason": "The disk is full.",
        "next_try_at": "2027-01-15T08:05:00.000Z",
    }
    assert shown["backups"]["job"] == {
        "kind": "automatic",
        "step": "copying",
        "done_bytes": 4,
        "total_bytes": 10,
    }
