"""Calls on the administration API of a running service, signed in for as long as a command takes."""

import json
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

from remindi.cli import exits
from remindi.cli.display import cut, escaped
from remindi.cli.endings import Declined
from remindi.cli.exchanges import Answer, Exchanges, Lost, json_body
from remindi.cli.exits import Refused
from remindi.cli.service import Service, Surroundings

Json = dict[str, Any]

ROOT: Final = "/api/v1"
USERNAME_VARIABLE: Final = "REMINDI_WEBUI_USERNAME"
PASSWORD_VARIABLE: Final = "REMINDI_WEBUI_PASSWORD"
COOKIE: Final = "remindi_session"
LIVE_PATH: Final = "/health/live"
READY_PATH: Final = "/health/ready"
_MAX_TOLD_CHARACTERS: Final = 200


class Api:
    """The administration of one service, as a context manager: signed in inside, signed out behind it."""

    def __init__(self, service: Service, surroundings: Surroundings) -> None:
        """Speak to nobody yet; the surroundings hold the credentials, which are looked for when needed."""
        self._service = service
        self._surroundings = surroundings
        self._exchanges = Exchanges(service)
        self._csrf = ""
        self._cookie = ""

    def __enter__(self) -> Self:
        """Sign in, unless the service asks nobody to.

        Raises:
            Refused, Declined: nobody answers, or it does not take the credentials.
        """
        session = self._data(self._send("GET", "/session"))
        self._csrf = session["csrf_token"]
        if not session["authenticated"]:
            self._sign_in()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Sign out; a session that cannot be ended ends by itself."""
        if self._cookie:
            with suppress(Refused, Lost):
                self._send("POST", "/auth/logout")

    def get(self, path: str) -> Any:
        """``data`` of a route that changes nothing.

        Raises:
            Refused, Declined: there is none; the lines say why.
        """
        return self._data(self._send("GET", path))

    def change(self, method: str, path: str, body: Json) -> Any:
        """``data`` of a route that changes something.

        Raises:
            Refused, Declined: there is none; the lines say why.
        """
        return self._data(self._send(method, path, body))

    def health(self) -> str:
        """The word of ``/health/ready``: ``ready``, or why not.

        Raises:
            Refused: no Remindi answers.
        """
        try:
            answer = self._exchanges.send("GET", READY_PATH, headers={})
            word = json.loads(answer.body)["status"]
        except (Lost, ValueError, LookupError, TypeError, RecursionError):
            word = None
        if not isinstance(word, str):
            raise Refused(
                exits.UNAVAILABLE, f"{self._service} is no Remindi: it has nothing to say at {READY_PATH}."
            )
        return escaped(word)

    def _sign_in(self) -> None:
        username = self._surroundings.need(USERNAME_VARIABLE)
        password = self._surroundings.need(PASSWORD_VARIABLE)
        answer = self._send("POST", "/auth/login", {"username": username.value, "password": password.value})
        if answer.status == 401 and (envelope := _envelope(answer)) is not None:
            where = f"{username.source} and {password.source}"
            raise Declined(envelope, [f"{self._service} does not take this sign-in: {where}."])
        session = self._data(answer)
        self._csrf = session["csrf_token"]
        self._cookie = answer.cookies.get(COOKIE, "")

    def _send(self, method: str, path: str, body: Json | None = None) -> Answer:
        headers = {"Accept": "application/json"}
        if method != "GET":
            headers |= {"Origin": str(self._service.origin), "X-CSRF-Token": self._csrf}
        if self._cookie:
            headers["Cookie"] = f"{COOKIE}={self._cookie}"
        raw = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            raw = json_body(body)
        try:
            return self._exchanges.send(method, f"{ROOT}{path}", headers=headers, body=raw)
        except Lost:
            doubt = (
                ""
                if method == "GET"
                else " It may have been carried out all the same: look before you repeat it."
            )
            raise Refused(
                exits.UNAVAILABLE, f"{self._service} took the request and did not answer.{doubt}"
            ) from None

    def _data(self, answer: Answer) -> Any:
        envelope = _envelope(answer)
        if envelope is None:
            raise Refused(
                exits.UNAVAILABLE,
                f"{self._service} has no administration API: it answered HTTP {answer.status} at {ROOT}."
                " Say where it is with --url.",
            )
        if envelope["ok"]:
            return envelope["data"]
        raise Declined(envelope, self._words(answer, envelope["error"]))

    def _words(self, answer: Answer, error: Json) -> list[str]:
        match error["code"]:
            case "NOT_FOUND":
                why = (
                    "it has an address of its own (`remindi serve --admin-port`), which --url must name,"
                    " or REMINDI_WEBUI_ENABLE is false there, or it is an older service"
                )
                return [f"{self._service} has no administration API: {why}."]
            case "LIMIT_EXCEEDED" if answer.status == 429:
                seconds = escaped(answer.headers.get("Retry-After", "60"))
                return [f"Too many sign-ins have failed; wait {seconds} s."]
            case "CSRF_REJECTED":
                return [f"{error['message']} A proxy before the service must keep the Host header."]
            case "FORBIDDEN":
                return [f"{self._service} does not let this in: {error['message']}"]
            case _:
                return [cut(escaped(str(error["message"])), _MAX_TOLD_CHARACTERS)]


def _envelope(answer: Answer) -> Json | None:
    """The envelope of contract 1.1; None when the answer holds none."""
    try:
        envelope: Json = json.loads(answer.body)
        if envelope["ok"] is True and "data" in envelope:
            return envelope
        if envelope["ok"] is False and isinstance(envelope["error"]["code"], str):
            return envelope
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    return None
