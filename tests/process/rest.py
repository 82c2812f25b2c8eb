"""A browser before the real process: signs in, keeps its cookie and token, and says what is answered."""

import http.client
import json
from typing import Any, Self

from tests.service import ANSWER_BOUND, HOST, PASSWORD, USERNAME, Answer, Headers, Service


class Browser:
    """One keep-alive connection to the administration API. Not for use by two threads at once."""

    def __init__(self, service: Service) -> None:
        self.authority = f"{HOST}:{service.port}"
        self.cookie = ""
        self.csrf = ""
        self._http = http.client.HTTPConnection(HOST, service.port, timeout=ANSWER_BOUND)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def headers(self) -> list[tuple[str, str]]:
        """Return what it sends with every request."""
        own = [("Host", self.authority), ("Origin", f"http://{self.authority}")]
        if self.cookie:
            own.append(("Cookie", f"remindi_session={self.cookie}"))
        if self.csrf:
            own.append(("X-CSRF-Token", self.csrf))
        return own

    def request(self, method: str, path: str, body: Any = None, headers: Headers | None = None) -> Answer:
        """Send one request below ``/api/v1`` and read its whole answer."""
        self._http.putrequest(method, f"/api/v1{path}", skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers() if headers is None else headers:
            self._http.putheader(name, value)
        text = None if body is None else json.dumps(body).encode()
        if text is not None:
            self._http.putheader("Content-Type", "application/json")
            self._http.putheader("Content-Length", str(len(text)))
        self._http.endheaders(text)
        with self._http.getresponse() as response:
            return Answer(response.status, tuple(response.getheaders()), response.read())

    def data(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request that must succeed; its ``data``."""
        answer = self.request(method, path, body)
        assert answer.status == http.client.OK, answer.body
        return answer.json()["data"]

    def sign_in(self) -> Self:
        """Sign in with the configured credentials."""
        self.cookie = ""
        self.csrf = self.data("GET", "/session")["csrf_token"]
        answer = self.request("POST", "/auth/login", {"username": USERNAME, "password": PASSWORD})
        assert answer.status == http.client.OK, answer.body
        self.cookie = (answer.header("Set-Cookie") or "").partition(";")[0].partition("=")[2]
        self.csrf = answer.json()["data"]["csrf_token"]
        return self
