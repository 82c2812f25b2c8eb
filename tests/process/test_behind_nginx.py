"""The service behind real nginx, as the README has it: TLS, a stripped prefix, the client's address."""

import http.client
import json
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Self

import pytest
import trustme

from tests.process.acts import new_item
from tests.service import (
    ANSWER_BOUND,
    HOST,
    PASSWORD,
    TOKEN,
    USERNAME,
    Json,
    Service,
    envelope,
    eventually,
    free_port,
)

README = Path(__file__).parents[2] / "README.md"
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin")
NAME = "remindi.example.com"
PREFIX = "/remindi-ui/"
STOP_BOUND = 10.0
AROUND = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log error;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {server}
}}
"""
pytestmark = [pytest.mark.slow, pytest.mark.skipif(NGINX is None, reason="nginx is not installed")]


def published(language: str, word: str) -> str:
    """The one block of the README in this language that holds the word."""
    blocks = re.findall(rf"```{language}\n(.*?)```", README.read_text(), re.DOTALL)
    (block,) = (block for block in blocks if word in block)
    return str(block)


def in_place(text: str, *changes: tuple[str, str]) -> str:
    """The text with each of these exchanged; all of them must be in it."""
    for there, here in changes:
        assert there in text
        text = text.replace(there, here)
    return text


class Proxy:
    """Nginx before a service."""

    def __init__(self, folder: Path, port: int, service: Service) -> None:
        self.port = port
        self.authority = f"{NAME}:{port}"
        authority = trustme.CA()
        authority.issue_cert(NAME).private_key_and_cert_chain_pem.write_to_path(str(folder / "both.pem"))
        self._trust = ssl.create_default_context()
        authority.configure_trust(self._trust)
        server = in_place(
            published("nginx", "proxy_pass"),
            ("listen 443 ssl", f"listen {HOST}:{port} ssl"),
            ("/etc/ssl/remindi.pem", f"{folder}/both.pem"),
            ("/etc/ssl/remindi.key", f"{folder}/both.pem"),
            ("127.0.0.1:8000", f"{HOST}:{service.port}"),
        )
        self._file = folder / "nginx.conf"
        self._file.write_text(AROUND.format(folder=folder, server=server))
        self.errors = folder / "error.log"

    def __enter__(self) -> Self:
        self._process = subprocess.Popen([str(NGINX), "-c", str(self._file)], stdin=subprocess.DEVNULL)
        eventually(self._listens)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(STOP_BOUND)

    def _listens(self) -> bool:
        assert self._process.poll() is None, self.errors.read_text()
        with socket.socket() as wire:
            return wire.connect_ex((HOST, self.port)) == 0

    def dial(self, address: str = HOST) -> ssl.SSLSocket:
        """A connection over TLS from this address."""
        wire = socket.create_connection((HOST, self.port), ANSWER_BOUND, source_address=(address, 0))
        return self._trust.wrap_socket(wire, server_hostname=NAME)


class Visitor:
    """A browser at one address that knows the service by its proxy alone."""

    def __init__(self, proxy: Proxy, address: str = HOST) -> None:
        self.proxy = proxy
        self.address = address
        self.headers = {"Host": proxy.authority, "Origin": f"https://{proxy.authority}"}

    def request(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[http.client.HTTPResponse, Json]:
        """Send a request and read the answer."""
        connection = http.client.HTTPConnection(NAME)
        connection.sock = self.proxy.dial(self.address)
        with closing(connection):
            text = None if body is None else json.dumps(body)
            kind = {} if body is None else {"Content-Type": "application/json"}
            connection.request(method, path, text, {**self.headers, **kind, **headers})
            answer = connection.getresponse()
            return answer, json.loads(answer.read())

    def api(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Json]:
        """Send a request to the API below the prefix."""
        answer, told = self.request(method, f"{PREFIX}api/v1{path}", body, **headers)
        return answer.status, told

    def data(self, method: str, path: str, body: Any = None) -> Any:
        """Send what must succeed."""
        status, told = self.api(method, path, body)
        assert status == 200, told
        return told["data"]

    def try_to_sign_in(
        self, password: str = PASSWORD, **headers: str
    ) -> tuple[http.client.HTTPResponse, Json]:
        """Sign in, or fail to."""
        self.headers["X-CSRF-Token"] = self.data("GET", "/session")["csrf_token"]
        body = {"username": USERNAME, "password": password}
        return self.request("POST", f"{PREFIX}api/v1/auth/login", body, **headers)

    def sign_in(self) -> str:
        """Sign in; what the cookie was set with."""
        answer, told = self.try_to_sign_in()
        assert answer.status == 200, told
        self.headers["X-CSRF-Token"] = told["data"]["csrf_token"]
        cookie = answer.getheader("Set-Cookie") or ""
        self.headers["Cookie"] = cookie.partition(";")[0]
        return cookie


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    port = free_port()
    lines = in_place(published("sh", "REMINDI_TRUSTED_PROXIES"), (NAME, f"{NAME}:{port}"))
    settings = dict(line.split("=", 1) for line in lines.split())
    folder = tmp_path / "nginx"
    folder.mkdir()
    with Service(tmp_path / "service", env=settings) as service, Proxy(folder, port, service) as proxy:
        yield proxy
    assert proxy.errors.read_text() == ""


def test_the_administration_works_below_a_prefix(proxy: Proxy) -> None:
    visitor = Visitor(proxy)
    cookie = visitor.sign_in()
    attributes = set(cookie.split("; ")[1:])
    assert {f"Path={PREFIX}", "HttpOnly", "Secure", "SameSite=Strict"} <= attributes
    added = visitor.data("POST", "/remindi", new_item("proxied"))["remindi"]
    change = {"expected_version": 1, "idempotency_key": "change.proxied", "reason": "clearer", "message": "n"}
    changed = visitor.data("PATCH", f"/remindi/{added['id']}", change)["remindi"]
    assert visitor.data("GET", "/remindi?project_id=proxied&limit=5")["items"] == [changed]
    assert visitor.api("GET", "/remindi?states=due,due")[0] == 400
    answer, told = visitor.request("POST", f"{PREFIX}api/v1/auth/logout")
    assert told["data"] == {"logged_out": True}
    cleared = (answer.getheader("Set-Cookie") or "").split("; ")
    assert {f"Path={PREFIX}", "Max-Age=0"} <= set(cleared)
    assert visitor.api("GET", "/settings")[0] == 401


def test_what_comes_from_elsewhere_is_refused_as_without_a_proxy(proxy: Proxy) -> None:
    visitor = Visitor(proxy)
    visitor.sign_in()
    new = new_item("proxied")
    for wrong in (
        {"Origin": f"http://{NAME}"},
        {"Origin": "https://evil.example"},
        {"X-CSRF-Token": "x"},
    ):
        status, told = visitor.api("POST", "/remindi", new, **wrong)
        assert (status, told["error"]["code"]) == (403, "CSRF_REJECTED")
    status, told = visitor.api("GET", "/remindi", Host="evil.example")
    assert (status, told["error"]["code"]) == (403, "FORBIDDEN")
    assert visitor.api("GET", "/remindi", Cookie="")[0] == 401
    status, told = visitor.api("POST", "/remindi", {"message": "x" * 1_100_000})
    assert (status, told["error"]["code"]) == (413, "LIMIT_EXCEEDED")
    assert visitor.data("GET", "/remindi")["items"] == []
    answer, _ = visitor.request("GET", f"{PREFIX}api/v1/session")
    assert answer.getheader("X-Frame-Options") == "DENY"
    assert answer.getheader("Cache-Control") == "no-store"


def test_live_events_come_through_as_they_happen(proxy: Proxy) -> None:
    visitor = Visitor(proxy)
    visitor.sign_in()
    with proxy.dial() as wire, wire.makefile("rb") as file:
        lines = [f"{name}: {visitor.headers[name]}" for name in ("Host", "Cookie")]
        wire.sendall("\r\n".join([f"GET {PREFIX}api/v1/events HTTP/1.1", *lines, "", ""]).encode())

        def told(name: str) -> Json:
            """What the next event of this name says; nothing more must come for it to be read."""
            while file.readline().strip() != f"event: {name}".encode():
                continue
            while not (line := file.readline()).startswith(b"data: "):
                continue
            found: Json = json.loads(line.removeprefix(b"data: "))
            return found

        told("hello")
        for _ in range(3):
            added = visitor.data("POST", "/remindi", new_item("proxied"))["remindi"]
            assert [item["remindi_id"] for item in told("items")["items"]] == [added["id"]]


def test_the_throttle_counts_the_clients_and_not_the_proxy(proxy: Proxy) -> None:
    guesser, forger, owner = (Visitor(proxy, f"127.0.0.{number}") for number in (2, 2, 3))
    for _ in range(5):
        answer, _ = guesser.try_to_sign_in("wrong")
        assert answer.status == 401
    answer, told = guesser.try_to_sign_in()
    assert (answer.status, told["error"]["code"]) == (429, "LIMIT_EXCEEDED")
    assert int(answer.getheader("Retry-After") or 0) >= 1
    answer, _ = forger.try_to_sign_in(**{"X-Forwarded-For": "127.0.0.9"})
    assert answer.status == 429
    owner.sign_in()


def test_agents_have_an_address_of_their_own(proxy: Proxy) -> None:
    body, headers = envelope("tools/call", {"name": "remindi_list", "arguments": {}}, "modern")
    agent = Visitor(proxy)
    agent.headers = {"Host": proxy.authority, **dict(headers)}
    answer, told = agent.request("POST", "/remindi", body, Authorization=f"Bearer {TOKEN}")
    assert answer.status == 200
    assert told["result"]["structuredContent"]["data"]["items"] == []
    answer, _ = agent.request("POST", "/remindi", body)
    assert answer.status == 401
