"""The session store behind its address: who may sign in, who is signed in, and for how long."""

import base64
import dataclasses
import gc
import hashlib
import hmac
import itertools
import logging
import re
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from actors.address import Address
from actors.messages.sessions import (
    Admitted,
    GetSession,
    IssuePreSession,
    Reauthenticate,
    Session,
    SignIn,
    SignOut,
    SpendPreSession,
    Throttled,
)
from actors.sessions import SessionStore
from remindi.callers import web_actor_id
from remindi.config import Config
from remindi.errors import ErrorCode, Refusal
from tests.fakes.clocks import ManualClock
from tests.fakes.scripted import Stage, alone

NAME, PASSWORD = "Ada", "correct horse"
CLIENT, OTHER_CLIENT = "198.51.100.1", "198.51.100.2"
TTL = 600
CONFIG = Config(
    owner_id="owner",
    mcp_token="t" * 16,
    webui_username=NAME,
    webui_password=PASSWORD,
    webui_session_ttl_seconds=TTL,
)
UNAUTHENTICATED = Refusal(ErrorCode.UNAUTHENTICATED)
CSRF_REJECTED = Refusal(ErrorCode.CSRF_REJECTED)
REAUTHENTICATION_REQUIRED = Refusal(ErrorCode.REAUTHENTICATION_REQUIRED)
TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


def counted() -> Callable[[int], bytes]:
    """Make a source of secrets that anybody can guess."""
    numbers = itertools.count(1)
    return lambda size: next(numbers).to_bytes(size, "big")


class House:
    """A store behind its address, asked as doors ask."""

    def __init__(
        self, stage: Stage, clock: ManualClock, secret: Callable[[int], bytes], **config: Any
    ) -> None:
        self.clock = clock
        self._address = Address("sessions")
        stage.put(
            self._address,
            SessionStore(
                "sessions",
                alone,
                config=dataclasses.replace(CONFIG, **config),
                clock=clock,
                secret=secret,
            ),
        )

    def ticket(self) -> str:
        return self._address.call(IssuePreSession(), timeout=10)

    def attempt(
        self,
        *,
        name: str = NAME,
        password: str = PASSWORD,
        client: str = CLIENT,
        ticket: str | None = None,
    ) -> Admitted | Refusal | Throttled:
        """Try to sign in as a door does: without a live ticket nobody asks any further."""
        spent = SpendPreSession(token=self.ticket() if ticket is None else ticket)
        if not self._address.call(spent, timeout=10):
            return CSRF_REJECTED
        return self._address.call(SignIn(client=client, username=name, password=password), timeout=10)

    def sign_in(self) -> tuple[str, Session]:
        """Sign in with the right credentials; the token and the session."""
        return admitted(self.attempt())

    def session(self, token: str | None) -> Session | None:
        return self._address.call(GetSession(token=token), timeout=10)

    def prove(
        self, token: str | None, password: str = PASSWORD, client: str = CLIENT
    ) -> Admitted | Refusal | Throttled:
        return self._address.call(Reauthenticate(client=client, token=token, password=password), timeout=10)

    def sign_out(self, token: str | None) -> bool:
        return self._address.call(SignOut(token=token), timeout=10)

    def fresh(self, token: str | None) -> bool:
        """Whether a live session has a fresh proof."""
        session = self.session(token)
        assert session is not None
        return session.proof_is_fresh


def admitted(answer: Admitted | Refusal | Throttled) -> tuple[str, Session]:
    """The token and the session of right credentials."""
    assert isinstance(answer, Admitted)
    assert answer.token is not None
    return answer.token, answer.session


MakeHouse = Callable[..., House]


@pytest.fixture
def make_house(stage: Stage, clock: ManualClock) -> MakeHouse:
    """Make houses whose secrets are counted; each option is a field of the configuration."""

    def make(**config: Any) -> House:
        return House(stage, clock, counted(), **config)

    return make


@pytest.fixture
def house(make_house: MakeHouse) -> House:
    return make_house()


@pytest.fixture
def open_house(make_house: MakeHouse) -> House:
    """With authentication off, and both credentials configured."""
    return make_house(webui_auth=False)


# ------------------------------------------------------------------- signing in


def test_the_right_credentials_begin_a_session(house: House) -> None:
    token, session = house.sign_in()
    assert TOKEN.fullmatch(token)
    assert TOKEN.fullmatch(session.csrf_token)
    assert session.actor_id == web_actor_id(NAME)
    assert session.expires_at == house.clock.now() + TTL * 1_000
    assert session.proof_is_fresh
    assert house.session(token) == session


def test_a_token_is_thirty_two_bytes_of_the_secret_source(house: House) -> None:
    for token in (house.ticket(), house.sign_in()[0]):
        assert len(base64.urlsafe_b64decode(token + "=")) == 32


def test_every_token_is_another_one(stage: Stage, clock: ManualClock) -> None:
    house = House(stage, clock, secrets.token_bytes)
    issued = [house.ticket() for _ in range(10)]
    for token, session in (house.sign_in() for _ in range(10)):
        issued += [token, session.csrf_token]
    assert len(set(issued)) == 30


def test_nobody_chooses_the_token_of_a_session(house: House) -> None:
    ticket = house.ticket()
    token, _ = admitted(house.attempt(ticket=ticket))
    assert token != ticket
    assert house.session(ticket) is None


@pytest.mark.parametrize(
    ("name", "password"),
    [
        ("Bob", PASSWORD),
        (NAME, "wrong"),
        ("Bob", "wrong"),
        ("", ""),
        (NAME, ""),
        ("ada", PASSWORD),
        (NAME, PASSWORD + " "),
        (NAME, "\ud800"),
        ("\ud800", PASSWORD),
        (PASSWORD, NAME),
        (NAME, "x" * 100_000),
    ],
)
def test_a_wrong_name_and_a_wrong_password_are_the_same_refusal(
    house: House, name: str, password: str
) -> None:
    assert house.attempt(name=name, password=password) == UNAUTHENTICATED


@pytest.mark.parametrize(
    ("name", "password"), [(NAME, PASSWORD), (NAME, "wrong"), ("Bob", PASSWORD), ("Bob", "wrong")]
)
def test_name_and_password_are_both_compared_in_constant_time_whatever_is_wrong(
    house: House, monkeypatch: pytest.MonkeyPatch, name: str, password: str
) -> None:
    compared: list[tuple[int, int]] = []
    compare = hmac.compare_digest

    def watched(one: bytes, other: bytes) -> bool:
        compared.append((len(one), len(other)))
        return compare(one, other)

    monkeypatch.setattr(hmac, "compare_digest", watched)
    house.attempt(name=name, password=password)
    assert compared == [(32, 32)] * 2


def test_credentials_may_be_of_any_script(make_house: MakeHouse) -> None:
    house = make_house(webui_username="Zoë", webui_password="пароль 🔑")
    assert house.attempt(name="Zoë", password="пароль") == UNAUTHENTICATED
    _, session = admitted(house.attempt(name="Zoë", password="пароль 🔑"))
    assert session.actor_id == web_actor_id("Zoë")


# ----------------------------------------------------------- pre-session tokens


@pytest.mark.parametrize("ticket", ["", "x", "A" * 43, "é", "\ud800", "\x00"])
def test_a_sign_in_without_a_token_of_ours_is_refused_whatever_the_credentials(
    house: House, ticket: str
) -> None:
    assert house.attempt(ticket=ticket) == CSRF_REJECTED
    assert house.attempt(ticket=ticket, password="wrong") == CSRF_REJECTED


def test_a_pre_session_token_is_spent_by_a_success(house: House) -> None:
    ticket = house.ticket()
    admitted(house.attempt(ticket=ticket))
    assert house.attempt(ticket=ticket) == CSRF_REJECTED


def test_a_pre_session_token_is_spent_by_a_failure(house: House) -> None:
    ticket = house.ticket()
    assert house.attempt(ticket=ticket, password="wrong") == UNAUTHENTICATED
    assert house.attempt(ticket=ticket) == CSRF_REJECTED


def test_a_pre_session_token_is_spent_by_a_throttled_attempt(house: House) -> None:
    ticket = house.ticket()
    for _ in range(5):
        house.attempt(password="wrong")
    assert isinstance(house.attempt(ticket=ticket), Throttled)
    assert house.attempt(ticket=ticket) == CSRF_REJECTED


def test_a_pre_session_token_lives_five_minutes(house: House) -> None:
    late, later = house.ticket(), house.ticket()
    house.clock.advance(299.999)
    admitted(house.attempt(ticket=late))
    house.clock.advance(0.001)
    assert house.attempt(ticket=later) == CSRF_REJECTED


def test_of_more_than_1024_pre_session_tokens_the_oldest_goes_first(house: House) -> None:
    first, second = house.ticket(), house.ticket()
    newest = [house.ticket() for _ in range(1_023)][-1]
    assert house.attempt(ticket=first) == CSRF_REJECTED
    admitted(house.attempt(ticket=second))
    admitted(house.attempt(ticket=newest))


def test_neither_kind_of_token_passes_for_the_other(house: House) -> None:
    token, session = house.sign_in()
    assert house.session(house.ticket()) is None
    assert house.session(session.csrf_token) is None
    assert house.attempt(ticket=token) == CSRF_REJECTED
    assert house.attempt(ticket=session.csrf_token) == CSRF_REJECTED


# ------------------------------------------------------------------- lifetimes


def test_a_session_ends_when_its_lifetime_does_however_much_it_is_used(house: House) -> None:
    token, session = house.sign_in()
    for _ in range(5):
        house.clock.advance(TTL / 5 - 0.001)
        shown = house.session(token)
        assert shown is not None
        assert (shown.expires_at, shown.csrf_token) == (session.expires_at, session.csrf_token)
        admitted_again = house.prove(token)
        assert isinstance(admitted_again, Admitted)
        assert admitted_again.session.expires_at == session.expires_at
    house.clock.advance(0.005)
    assert house.session(token) is None
    assert house.prove(token) == UNAUTHENTICATED


def test_a_jump_of_the_wall_clock_ends_no_session_and_no_proof(house: House) -> None:
    token, _ = house.sign_in()
    for jump in (10**10, -(10**11)):
        house.clock.wall += jump
        assert house.fresh(token)


def test_of_more_than_1024_sessions_the_oldest_goes_first(house: House) -> None:
    tokens = [house.sign_in()[0] for _ in range(1_024)]
    assert house.session(tokens[0]) is not None
    newest, _ = house.sign_in()
    assert house.session(tokens[0]) is None
    assert house.session(tokens[1]) is not None
    assert house.session(newest) is not None


def test_a_session_that_was_proved_again_is_no_younger(house: House) -> None:
    tokens = [house.sign_in()[0] for _ in range(1_024)]
    assert isinstance(house.prove(tokens[0]), Admitted)
    house.sign_in()
    assert house.session(tokens[0]) is None


@pytest.mark.parametrize("token", [None, "", "x", "A" * 43, "é", "\ud800"])
def test_a_token_that_is_not_ours_is_no_session(house: House, token: str | None) -> None:
    house.sign_in()
    assert house.session(token) is None
    assert house.prove(token) == UNAUTHENTICATED
    assert house.sign_out(token) is False


def test_signing_out_ends_this_session_and_no_other(house: House) -> None:
    token, _ = house.sign_in()
    other, _ = house.sign_in()
    assert house.sign_out(token) is True
    assert house.session(token) is None
    assert house.sign_out(token) is False
    assert house.session(other) is not None


def test_a_new_process_knows_no_session_of_the_former_one(stage: Stage, clock: ManualClock) -> None:
    token, session = House(stage, clock, secrets.token_bytes).sign_in()
    house = House(stage, clock, secrets.token_bytes)
    assert house.session(token) is None
    assert house.attempt(ticket=session.csrf_token) == CSRF_REJECTED


# ---------------------------------------------------------------------- proofs


def test_a_sign_in_is_a_fresh_proof_for_300_seconds_and_not_longer(house: House) -> None:
    token, _ = house.sign_in()
    house.clock.advance(300)
    assert house.fresh(token)
    house.clock.advance(0.001)
    assert not house.fresh(token)


def test_the_password_renews_the_proof_and_nothing_else(house: House) -> None:
    token, session = house.sign_in()
    other, _ = house.sign_in()
    house.clock.advance(301)
    answer = house.prove(token)
    assert answer == Admitted(session=session, token=None)
    assert house.session(token) == session
    assert not house.fresh(other)
    house.clock.advance(298)
    assert house.fresh(token)


def test_a_wrong_password_renews_nothing_and_ends_nothing(house: House) -> None:
    token, _ = house.sign_in()
    house.clock.advance(301)
    assert house.prove(token, "wrong") == REAUTHENTICATION_REQUIRED
    assert house.prove(token, NAME) == REAUTHENTICATION_REQUIRED
    assert house.session(token) is not None
    assert not house.fresh(token)


# -------------------------------------------------------------------- throttle


def test_the_sixth_attempt_waits_also_with_the_right_credentials(house: House) -> None:
    for _ in range(5):
        assert house.attempt(password="wrong") == UNAUTHENTICATED
    assert house.attempt() == Throttled(retry_after=60)
    assert house.attempt(password="wrong") == Throttled(retry_after=60)
    admitted(house.attempt(client=OTHER_CLIENT))
    house.clock.advance(60)
    admitted(house.attempt())


def test_refused_attempts_do_not_prolong_the_wait(house: House) -> None:
    for _ in range(5):
        house.attempt(password="wrong")
    for _ in range(59):
        house.clock.advance(1)
        assert isinstance(house.attempt(password="wrong"), Throttled)
    house.clock.advance(1)
    admitted(house.attempt())


def test_successes_and_missing_tokens_do_not_count(house: House) -> None:
    for _ in range(10):
        admitted(house.attempt())
        assert house.attempt(ticket="x", password="wrong") == CSRF_REJECTED
    assert house.attempt(password="wrong") == UNAUTHENTICATED


def test_a_success_in_between_forgives_no_failure(house: House) -> None:
    for _ in range(5):
        house.attempt(password="wrong")
        house.attempt(client=OTHER_CLIENT)
    assert isinstance(house.attempt(), Throttled)


def test_sign_in_and_reauthentication_share_the_throttle(house: House) -> None:
    token, session = house.sign_in()
    for _ in range(3):
        assert house.attempt(password="wrong") == UNAUTHENTICATED
    for _ in range(2):
        assert house.prove(token, "wrong") == REAUTHENTICATION_REQUIRED
    assert house.prove(token) == Throttled(retry_after=60)
    assert house.attempt() == Throttled(retry_after=60)
    assert house.session(token) == session


def test_without_a_session_reauthentication_is_no_way_to_guess(house: House) -> None:
    for _ in range(10):
        assert house.prove("x", PASSWORD) == UNAUTHENTICATED
        assert house.prove(None, "wrong") == UNAUTHENTICATED
    admitted(house.attempt())


def test_sixty_failures_from_all_over_hold_up_everybody(house: House) -> None:
    token, session = house.sign_in()
    for number in range(60):
        assert house.attempt(password="wrong", client=f"2001:db8::{number:x}") == UNAUTHENTICATED
    assert house.attempt() == Throttled(retry_after=60)
    assert house.session(token) == session


# ---------------------------------------------------------- authentication off


def test_with_authentication_off_there_always_is_one_session_for_all(open_house: House) -> None:
    session = open_house.session(None)
    assert session is not None
    assert session.actor_id == "webui:unauthenticated"
    assert TOKEN.fullmatch(session.csrf_token)
    assert session.expires_at is None
    assert not session.proof_is_fresh
    assert open_house.session("x") == session
    open_house.clock.advance(TTL + 1)
    assert open_house.session(None) == session


def test_with_authentication_off_nobody_signs_in(open_house: House) -> None:
    assert open_house.attempt() == UNAUTHENTICATED
    assert open_house.attempt(password="wrong") == UNAUTHENTICATED


def test_with_authentication_off_the_password_earns_a_proof_of_its_own(open_house: House) -> None:
    for_all = open_house.session(None)
    assert for_all is not None
    token, session = admitted(open_house.prove(None))
    assert TOKEN.fullmatch(token)
    assert session.proof_is_fresh
    assert (session.actor_id, session.csrf_token) == (for_all.actor_id, for_all.csrf_token)
    assert session.expires_at is None
    assert open_house.session(token) == session
    assert not open_house.fresh(None)
    open_house.clock.advance(300)
    assert open_house.fresh(token)
    open_house.clock.advance(0.001)
    assert not open_house.fresh(token)


def test_with_authentication_off_a_new_proof_replaces_the_former_one(open_house: House) -> None:
    first, _ = admitted(open_house.prove(None))
    second, _ = admitted(open_house.prove(first))
    assert second != first
    assert not open_house.fresh(first)
    assert open_house.fresh(second)


def test_with_authentication_off_signing_out_ends_the_proof(open_house: House) -> None:
    token, _ = admitted(open_house.prove(None))
    assert open_house.sign_out(token) is True
    assert open_house.session(token) == open_house.session(None)
    assert open_house.sign_out(None) is False


def test_with_authentication_off_wrong_passwords_are_throttled_too(open_house: House) -> None:
    for _ in range(5):
        assert open_house.prove(None, "wrong") == REAUTHENTICATION_REQUIRED
    assert open_house.prove(None) == Throttled(retry_after=60)


@pytest.mark.parametrize("missing", ["webui_username", "webui_password"])
def test_with_authentication_off_a_proof_needs_both_credentials_configured(
    make_house: MakeHouse, missing: str
) -> None:
    house = make_house(webui_auth=False, **{missing: None})
    for password in (PASSWORD, "", "wrong") * 4:
        assert house.prove(None, password) == REAUTHENTICATION_REQUIRED


# --------------------------------------------------------------------- secrecy


def test_neither_log_nor_repr_tells_a_secret(house: House, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    ticket = house.ticket()
    answer = house.attempt(ticket=ticket)
    token, session = admitted(answer)
    said = " ".join(
        map(
            repr,
            [
                SpendPreSession(token=ticket),
                SignIn(client=CLIENT, username=NAME, password=PASSWORD),
                Reauthenticate(client=CLIENT, token=token, password=PASSWORD),
                GetSession(token=token),
                SignOut(token=token),
                answer,
                session,
            ],
        )
    )
    house.attempt(password="wrong")
    house.prove(token, "wrong")
    house.sign_out(token)
    for secret in (ticket, token, session.csrf_token, PASSWORD, NAME):
        assert secret not in said
        assert secret not in caplog.text


def test_no_token_and_no_credential_is_kept(clock: ManualClock) -> None:
    store = SessionStore(
        "sessions",
        alone,
        config=CONFIG,
        clock=clock,
        secret=secrets.token_bytes,
    )
    ticket = store.handle(IssuePreSession())
    spare = store.handle(IssuePreSession())
    assert store.handle(SpendPreSession(token=ticket)) is True
    token, session = admitted(store.handle(SignIn(client=CLIENT, username=NAME, password=PASSWORD)))
    kept = set(atoms(vars(store)))
    for known in (spare, token, PASSWORD, NAME):
        assert hashlib.sha256(known.encode()).digest() in kept
    for secret in (spare, token, session.csrf_token, PASSWORD, NAME):
        assert secret not in kept
        assert secret.encode() not in kept


def atoms(value: Any) -> Iterator[str | bytes]:
    """Every text that our own objects hold, however deep."""
    waiting, seen = [value], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, str | bytes):
            yield part
        elif isinstance(part, dict):
            waiting += [*part.keys(), *part.values()]
        elif isinstance(part, tuple | list | set | frozenset):
            waiting += part
        elif type(part).__module__.startswith(("actors.sessions", "remindi.", "collections")):
            waiting += gc.get_referents(part)
