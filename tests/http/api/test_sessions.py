"""Signing in and out: tokens, cookies, proofs, the throttle, and the three modes (contract 11.5 to 11.7)."""

import logging
import re
from ipaddress import ip_network
from typing import Any

import pytest

from remindi.callers import web_actor_id
from tests.fakes.api import HOST, NAME, ORIGIN, PASSWORD, Browser, House
from tests.http.api.conftest import MakeHouse

TTL = 43_200
COOKIE = re.compile(
    rf"remindi_session=([A-Za-z0-9_-]{{43}}); HttpOnly; SameSite=Strict; Max-Age={TTL}; Path=/"
)
KEYS = [
    "authenticated",
    "authentication_required",
    "actor_id",
    "csrf_token",
    "expires_at",
    "reauthentication_required",
]


def test_without_a_session_there_is_a_token_for_signing_in(home: House) -> None:
    shown = home.browser().get("/session").data
    assert list(shown) == KEYS
    assert shown | {"csrf_token": "?"} == {
        "authenticated": False,
        "authentication_required": True,
        "actor_id": None,
        "csrf_token": "?",
        "expires_at": None,
        "reauthentication_required": False,
    }
    assert len(shown["csrf_token"]) == 43
    assert shown["csrf_token"] != home.browser().get("/session").data["csrf_token"]


def test_a_sign_in_sets_the_cookie_exactly_and_shows_the_session(home: House) -> None:
    browser = home.browser()
    answered = browser.sign_in()
    assert COOKIE.fullmatch(answered.header("Set-Cookie") or "")
    shown = answered.data
    assert list(shown) == KEYS
    assert (shown["authenticated"], shown["authentication_required"]) == (True, True)
    assert shown["actor_id"] == web_actor_id(NAME)
    assert shown["expires_at"] == "2027-01-15T20:00:00.000Z"
    assert browser.get("/session").data == shown
    assert home.audit() == [("login_succeeded", "succeeded", {"kind": "login"})]


def test_the_cookie_is_secure_when_it_shall_be(make_house: MakeHouse) -> None:
    home = make_house(webui_cookie_secure=True, webui_session_ttl_seconds=60)
    browser = home.browser()
    cookie = browser.sign_in().header("Set-Cookie") or ""
    assert cookie.endswith("; HttpOnly; SameSite=Strict; Max-Age=60; Path=/; Secure")
    cleared = browser.post("/auth/logout").header("Set-Cookie")
    assert cleared == "remindi_session=; HttpOnly; SameSite=Strict; Max-Age=0; Path=/; Secure"


@pytest.mark.parametrize(("name", "password"), [("Bob", PASSWORD), (NAME, "wrong"), ("", "")])
def test_a_wrong_name_and_a_wrong_password_look_the_same(home: House, name: str, password: str) -> None:
    browser = home.browser()
    answered = browser.sign_in(name, password)
    assert (answered.status, answered.code) == (401, "UNAUTHENTICATED")
    assert answered.json()["error"]["details"] == {}
    assert answered.header("Set-Cookie") is None
    assert answered.header("WWW-Authenticate") is None
    assert home.audit() == [
        ("login_failed", "rejected", {"kind": "login", "failure_code": "UNAUTHENTICATED"})
    ]


@pytest.mark.parametrize("password", [PASSWORD, "wrong"])
def test_a_pre_session_token_is_spent_by_any_attempt(home: House, password: str) -> None:
    browser = home.browser()
    browser.sign_in(password=password)
    spent = browser.csrf if password == "wrong" else None
    again = home.browser()
    again.csrf = spent or "a" * 43
    answered = again.post("/auth/login", {"username": NAME, "password": PASSWORD})
    assert (answered.status, answered.code) == (403, "CSRF_REJECTED")
    assert len(home.audit()) == 1


def test_a_malformed_sign_in_spends_its_token_too_and_is_audited(home: House) -> None:
    browser = home.browser()
    browser.csrf = browser.get("/session").data["csrf_token"]
    answered = browser.post("/auth/login", {"username": NAME, "password": PASSWORD, "more": 1})
    assert (answered.status, answered.errors) == (400, [("/more", "unknown_field")])
    assert browser.post("/auth/login", {"username": NAME, "password": PASSWORD}).code == "CSRF_REJECTED"
    assert home.audit() == [
        ("login_failed", "rejected", {"kind": "login", "failure_code": "VALIDATION_ERROR"})
    ]


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({}, [("/username", "required"), ("/password", "required")]),
        ({"username": NAME}, [("/password", "required")]),
        ({"username": 1, "password": None}, [("/username", "type"), ("/password", "null_not_allowed")]),
        ([], [("", "type")]),
        (b"null", [("", "null_not_allowed")]),
    ],
)
def test_a_sign_in_is_exactly_a_name_and_a_password(
    home: House, body: Any, errors: list[tuple[str, str]]
) -> None:
    browser = home.browser()
    browser.csrf = browser.get("/session").data["csrf_token"]
    assert browser.post("/auth/login", body).errors == errors


def test_a_token_for_signing_in_ends_after_five_minutes(home: House) -> None:
    browser = home.browser()
    browser.csrf = browser.get("/session").data["csrf_token"]
    home.core.clock.advance(300)
    assert browser.post("/auth/login", {"username": NAME, "password": PASSWORD}).code == "CSRF_REJECTED"


def test_nobody_can_fix_the_token_of_a_session(home: House) -> None:
    browser = home.browser()
    browser.cookie = "x" * 43
    browser.sign_in()
    assert browser.cookie != "x" * 43
    stranger = home.browser()
    stranger.cookie = "x" * 43
    assert stranger.get("/session").data["authenticated"] is False


def test_a_session_ends_after_its_lifetime_and_not_by_being_used(browser: Browser) -> None:
    browser.house.core.clock.advance(TTL - 1)
    assert browser.get("/settings").status == 200
    browser.house.core.clock.advance(1)
    assert (browser.get("/settings").status, browser.get("/session").data["authenticated"]) == (401, False)


def test_signing_out_ends_session_and_cookie(browser: Browser) -> None:
    answered = browser.post("/auth/logout")
    assert answered.data == {"logged_out": True}
    assert answered.header("Set-Cookie") == "remindi_session=; HttpOnly; SameSite=Strict; Max-Age=0; Path=/"
    assert browser.get("/settings").status == 401
    assert browser.house.audit()[-1] == ("logout", "succeeded", {"kind": "login"})


def test_signing_out_takes_no_body(browser: Browser) -> None:
    answered = browser.post("/auth/logout", {})
    assert (answered.status, answered.errors) == (400, [("", "unknown_field")])
    assert browser.get("/settings").status == 200


@pytest.mark.parametrize(
    "cookies",
    [
        [],
        [""],
        ["remindi_session="],
        ["remindi_session"],
        ["other={token}"],
        ["remindi_session={token}", "a=b"],
        ["remindi_session={token}; remindi_session={token}"],
        ["remindi_session={token}; remindi_session=x"],
        ["REMINDI_SESSION={token}"],
        ["remindi_session={token}x"],
        ['remindi_session="{token}"'],
    ],
)
def test_anything_but_one_good_cookie_is_no_session(browser: Browser, cookies: list[str]) -> None:
    headers = [("Cookie", cookie.format(token=browser.cookie)) for cookie in cookies]
    answered = browser.send("GET", "/settings", [*browser.headers(without=["Cookie"]), *headers])
    assert (answered.status, answered.code) == (401, "UNAUTHENTICATED")


@pytest.mark.parametrize(
    "cookie", ["a=b; remindi_session={token}; c=d", "remindi_session={token};", "a;remindi_session={token}"]
)
def test_other_cookies_do_not_matter(browser: Browser, cookie: str) -> None:
    headers = [*browser.headers(without=["Cookie"]), ("Cookie", cookie.format(token=browser.cookie))]
    assert browser.send("GET", "/settings", headers).status == 200


# -------------------------------------------------------------------- proofs


def test_a_password_renews_the_proof_and_keeps_session_and_cookie(browser: Browser) -> None:
    before = browser.get("/session").data
    answered = browser.post("/auth/reauthenticate", {"password": PASSWORD})
    assert answered.data == before
    assert answered.header("Set-Cookie") is None
    assert browser.house.audit()[-1] == ("login_succeeded", "succeeded", {"kind": "reauthentication"})


def test_a_wrong_password_is_no_proof_and_ends_nothing(browser: Browser) -> None:
    answered = browser.post("/auth/reauthenticate", {"password": "wrong"})
    assert (answered.status, answered.code) == (401, "REAUTHENTICATION_REQUIRED")
    assert browser.get("/settings").status == 200
    assert browser.house.audit()[-1] == (
        "login_failed",
        "rejected",
        {"kind": "reauthentication", "failure_code": "REAUTHENTICATION_REQUIRED"},
    )


def test_a_proof_is_exactly_a_password(browser: Browser) -> None:
    answered = browser.post("/auth/reauthenticate", {"password": PASSWORD, "username": NAME})
    assert answered.errors == [("/username", "unknown_field")]


# ------------------------------------------------------------------ throttle


def test_five_failures_keep_an_address_waiting_and_leave_no_further_rows(home: House) -> None:
    browser = home.browser()
    for _ in range(5):
        assert browser.sign_in(password="wrong").status == 401
    home.core.clock.advance(0.5)
    answered = browser.sign_in()
    assert (answered.status, answered.code) == (429, "LIMIT_EXCEEDED")
    assert answered.header("Retry-After") == "60"
    assert answered.json()["error"]["retryable"] is False
    assert len(home.audit()) == 5
    assert home.browser(peer="192.0.2.8").sign_in().status == 200
    home.core.clock.advance(59.5)
    assert browser.sign_in().status == 200


def test_sign_ins_and_proofs_share_the_throttle(browser: Browser) -> None:
    for _ in range(5):
        browser.post("/auth/reauthenticate", {"password": "wrong"})
    assert browser.post("/auth/reauthenticate", {"password": PASSWORD}).status == 429
    assert browser.house.browser().sign_in().status == 429
    assert browser.get("/settings").status == 200


def test_successes_and_malformed_attempts_do_not_count(home: House) -> None:
    browser = home.browser()
    for _ in range(6):
        assert browser.sign_in().status == 200
        browser.cookie = None
        browser.csrf = browser.get("/session").data["csrf_token"]
        browser.post("/auth/login", {"username": 1})
    assert browser.sign_in().status == 200


def test_sixty_failures_of_all_keep_everybody_waiting(home: House) -> None:
    for number in range(60):
        assert home.browser(peer=f"198.51.100.{number}").sign_in(password="wrong").status == 401
    assert home.browser(peer="203.0.113.1").sign_in().status == 429


def forwarded(browser: Browser, value: str, password: str = "wrong") -> int:
    """Try to sign in behind a proxy that names a client; the status."""
    browser.csrf = browser.get("/session").data["csrf_token"]
    body = {"username": NAME, "password": password}
    return browser.request("POST", "/auth/login", body, ("X-Forwarded-For", value)).status


def test_a_forged_client_address_does_not_help(home: House) -> None:
    browser = home.browser()
    assert [forwarded(browser, f"203.0.113.{number}") for number in range(7)] == [401] * 5 + [429] * 2


def test_behind_a_trusted_proxy_each_client_is_counted_alone(make_house: MakeHouse) -> None:
    home = make_house(trusted_proxies=(ip_network("192.0.2.0/24"),))
    browser = home.browser()
    assert [forwarded(browser, "203.0.113.1") for _ in range(6)] == [401] * 5 + [429]
    # What the client wrote itself stands before what the proxy saw.
    assert forwarded(browser, "203.0.113.9, 203.0.113.1") == 429
    assert forwarded(browser, "203.0.113.1, 203.0.113.2", PASSWORD) == 200
    assert forwarded(browser, "203.0.113.1, 203.0.113.3, 192.0.2.99", PASSWORD) == 200


# -------------------------------------------------------- authentication off


def open_house(make_house: MakeHouse, **config: Any) -> Browser:
    """A browser before a house that asks nobody for a password."""
    browser = make_house(webui_auth=False, **config).browser(host="localhost:8000")
    browser.csrf = browser.get("/session").data["csrf_token"]
    return browser


def test_with_authentication_off_everybody_is_signed_in_under_one_token(make_house: MakeHouse) -> None:
    browser = open_house(make_house)
    shown = browser.get("/session").data
    assert shown == {
        "authenticated": True,
        "authentication_required": False,
        "actor_id": "webui:unauthenticated",
        "csrf_token": browser.csrf,
        "expires_at": None,
        "reauthentication_required": False,
    }
    assert browser.get("/settings").status == 200
    assert (
        browser.patch("/settings/backups.retention_count", {"value": 3, "expected_version": 1}).data[
            "updated_by"
        ]
        == "webui:unauthenticated"
    )
    browser.csrf = "wrong"
    assert browser.patch("/settings/backups.retention_count", {}).code == "CSRF_REJECTED"


def test_with_authentication_off_there_is_nothing_to_sign_in_to(make_house: MakeHouse) -> None:
    browser = open_house(make_house)
    assert browser.post("/auth/login", {"username": NAME, "password": PASSWORD}).status == 401
    browser.csrf = None
    assert browser.post("/auth/login", b"{").status == 401


def test_with_authentication_off_the_password_earns_a_cookie_of_proof(make_house: MakeHouse) -> None:
    browser = open_house(make_house)
    assert browser.post("/auth/reauthenticate", {"password": "wrong"}).code == "REAUTHENTICATION_REQUIRED"
    answered = browser.post("/auth/reauthenticate", {"password": PASSWORD})
    assert COOKIE.fullmatch(answered.header("Set-Cookie") or "")
    browser.keep(answered)
    assert browser.get("/session").data["authenticated"] is True
    assert browser.post("/auth/logout").data == {"logged_out": True}


@pytest.mark.parametrize("missing", ["webui_username", "webui_password"])
def test_with_authentication_off_a_proof_needs_both_credentials(make_house: MakeHouse, missing: str) -> None:
    browser = open_house(make_house, **{missing: None})
    assert browser.post("/auth/reauthenticate", {"password": PASSWORD}).status == 401


# ------------------------------------------------------------------- closed


@pytest.mark.parametrize("closing", ["maintenance", "damaged", "writer"])
def test_signing_in_works_while_nothing_can_be_stored(
    home: House, closing: str, caplog: pytest.LogCaptureFixture
) -> None:
    if closing == "maintenance":
        home.board.maintenance = "paused"
    elif closing == "damaged":
        home.board.startup = "damaged"
    else:
        home.core.stop()
    with caplog.at_level(logging.WARNING, "remindi.api"):
        browser = home.signed_in()
    assert browser.get("/session").data["authenticated"] is True
    lost = [record for record in caplog.records if record.msg == "an audit row was not stored"]
    kept = home.backups.postponed
    if closing == "maintenance":
        # It follows, with its own time, when maintenance ends.
        assert lost == []
        (postponed,) = kept
        assert postponed.record.event_type == "login_succeeded"
        assert postponed.record.occurred_at == home.core.clock.now()
    else:
        (line,) = lost
        assert vars(line)["event_type"] == "login_succeeded"
        assert kept == []


def test_no_secret_is_logged(home: House, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    browser = home.signed_in()
    browser.post("/auth/reauthenticate", {"password": "wrong-password"})
    said = " ".join(str(vars(record)) for record in caplog.records)
    for secret in (browser.cookie, browser.csrf, PASSWORD, "wrong-password", NAME):
        assert secret is not None
        assert secret not in said


def test_host_and_origin_are_those_of_the_page(home: House) -> None:
    assert f"http://{HOST}" == ORIGIN
    browser = home.browser()
    browser.csrf = browser.get("/session").data["csrf_token"]
    headers = [("Host", HOST), ("Origin", "http://evil.test"), ("X-CSRF-Token", browser.csrf)]
    assert browser.send("POST", "/auth/login", headers).code == "CSRF_REJECTED"
    # A foreign page spends nobody's token.
    assert browser.post("/auth/login", {"username": NAME, "password": PASSWORD}).status == 200
