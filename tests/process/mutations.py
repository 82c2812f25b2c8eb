"""Well-formed requests to both doors, and what becomes of them by chance, from a seed."""

import json
import random
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

from tests.http.api.walks import BODIES, NAMES, OPERATIONS
from tests.process.acts import ERAS, LONG_AHEAD
from tests.service import TOKEN, Json, envelope

JSON: Final = "application/json"
MOST_MUTATIONS: Final = 3

ODD_TEXTS: Final = (
    "", " ", "\t\r\n", "\x00", "\x1f", "\u200b", "\ufeff", "\U0010ffff", "null", "NaN", "-1", "0", "../..",
    "%00", "' OR 1=1 --", "${jndi:x}", "<script>", "x" * 300, "\u00e4" * 5_000,
    "0190aaaa-bbbb-7ccc-addd-eeeeffff0001", "2026-13-01T00:00:00Z", "9999-12-31T23:59:59.999999999+14:00",
    "0000-01-01T00:00:00Z", "a\\u0000b",
)  # fmt: skip
ODD_VALUES: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 1, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**400, 0.5, 1e308, -0.0, [], {},
    [[]], [None] * 50, {"": {}}, {"__proto__": 1}, {"type": "condition"}, *ODD_TEXTS,
)  # fmt: skip
ODD_JSON: Final = (
    b"", b"{", b"}", b"[]", b"null", b"1", b'"text"', b"\xff\xfe", b"\x00", b"NaN", b"[1,]", b'{"a":1,"a":2}',
    b"{}{}", b"\xef\xbb\xbf{}", b'{"a":"\\ud800"}', b"[" * 3_000 + b"]" * 3_000,
    b'{"a":' * 200 + b"1" + b"}" * 200, b'{"value":1e999999,"expected_version":1}',
    b'{"' + b"k" * 70_000 + b'":1}', b"{" + b" " * 1_048_600 + b"}",
)  # fmt: skip
METHODS: Final = (
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "QUERY", "get", "P0ST",
    "X" * 300,
)  # fmt: skip
SEGMENTS: Final = (
    "", ".", "..", "%2e%2e", "%2F", "%00", "%ff", "%C0%AF", "%zz", "%", ";a=b", "~", "a%20b", "\u00e4",
    "x" * 3_000, "remindi", "check", "history", "restart", "settings", "events", "all",
    "scheduler.lease_seconds", "file_exists",
)  # fmt: skip
QUERIES: Final = (
    "limit=1", "limit=0", "limit=-1", "limit=1e3", "limit=01", "limit=9" + "9" * 40, "limit=", "limit", "=",
    "&", "&&=&", "states=due,overdue", "states=due,due", "states=nowhere", "states=" + "due," * 2_000,
    "cursor=abc", "cursor=%00", "cursor=" + "A" * 3_000, "q=look", 'q="', "q=*", "q=a%20OR%20b",
    "q=NEAR(a b)", "q=%F0%9F%98%80", "q=%ff", "q=-", "sort=priority", "sort=", "order=desc",
    "event_type=logout", "outcome=failed,failed", "after_sequence=-0", "before_sequence=9223372036854775808",
    "remindi_id=x", "project_id=%00", "project_id=p", "a=b&a=b", "%=%", "q=+%2B",
)  # fmt: skip
HEADERS: Final = (
    ("Content-Type", "text/plain"), ("Content-Type", JSON + "; charset=utf-16"), ("Content-Type", ""),
    ("Content-Type", JSON), ("Content-Encoding", "gzip"), ("Accept", "text/html"), ("Accept", "*/*;q=banana"),
    ("Host", "example.com"), ("Host", ""), ("Host", "a@b"), ("Host", "[::1"), ("Origin", "null"),
    ("Origin", "http://"), ("Origin", "https://example.com"), ("Cookie", "remindi_session="),
    ("Cookie", ";;=;remindi_session"), ("Cookie", "remindi_session=" + "\u00e9" * 43), ("X-CSRF-Token", ""),
    ("X-CSRF-Token", "\u00e9"), ("X_CSRF_Token", "x"), ("X-Forwarded-For", "1.2.3.4, ,"),
    ("X-Forwarded-For", "unknown"), ("X-Forwarded-Prefix", "/a/../b"), ("X-Forwarded-Host", "example.com"),
    ("X-Request-Id", "x" * 129), ("X-Request-Id", "fine-1"), ("X-Request-Id", "\u00fc"),
    ("Last-Event-ID", "1"), ("Authorization", "Bearer  x"), ("Authorization", "Basic YTpi"),
    ("Expect", "100-continue"), ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Connection", "close"),
    ("Range", "bytes=0-1"), ("If-Match", '"1"'), ("TE", "trailers"), ("X-Long", "y" * 8_000),
    ("MCP-Protocol-Version", "1999-01-01"), ("Mcp-Session-Id", "x"), ("X-HTTP-Method-Override", "DELETE"),
)  # fmt: skip


@dataclass(slots=True)
class Draft:
    """A request that is still being changed."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: Any = None
    """A JSON value, bytes as they are sent, or None."""
    framing: list[tuple[str, str]] = field(default_factory=list)
    """Headers instead of the length of the body. Whoever sends it cannot know where the answer ends."""

    def wire(self) -> bytes:
        """The request as it is sent."""
        if self.body is None or isinstance(self.body, bytes):
            body = self.body or b""
        else:
            body = json.dumps(self.body).encode()
        length = [("Content-Length", str(len(body)))] if self.body is not None else []
        lines = [f"{self.method} {self.target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in (*self.headers, *(self.framing or length))]
        return "\r\n".join([*lines, "", ""]).encode() + body


Mutation = Callable[[random.Random, Draft], None]


class Drafts:
    """Requests from a seed: the same ones again, but for what sessions and items are called."""

    def __init__(self, seed: int, items: Sequence[str]) -> None:
        self._random = random.Random(seed)
        self._items = items

    def next(self, own: Sequence[tuple[str, str]]) -> Draft:
        """The next request of somebody who sends these headers by himself."""
        chance = self._random
        draft = self._mcp(own) if chance.random() < 0.15 else self._api(own)
        for mutate in chance.choices(MUTATIONS, k=chance.randint(1, MOST_MUTATIONS)):
            mutate(chance, draft)
        return draft

    def _api(self, own: Sequence[tuple[str, str]]) -> Draft:
        chance = self._random
        method, path, _ = chance.choice(OPERATIONS)
        body = deepcopy(BODIES.get((method, path)))
        for parameter, name in NAMES.items():
            path = path.replace(parameter, chance.choice(self._items) if parameter == "{id}" else name)
        if body is not None:
            self._fit(body)
        headers = [*own, ("Content-Type", JSON)] if body is not None else [*own]
        return Draft(method, f"/api/v1{path}", headers, body)

    def _fit(self, body: Json) -> None:
        """Names and versions that may be taken."""
        if "idempotency_key" in body:
            body["idempotency_key"] = f"mutated.{self._random.getrandbits(40)}"
        if "expected_version" in body:
            body["expected_version"] = self._random.randint(1, 4)
        if "trigger" in body:
            body["trigger"]["at"] = LONG_AHEAD
        if "configuration" in body:
            # Nothing but loopback is looked at.
            body["configuration"]["aliases"]["x"] |= {"host": "127.0.0.1", "allow_private": True}

    def _mcp(self, own: Sequence[tuple[str, str]]) -> Draft:
        chance = self._random
        host = [pair for pair in own if pair[0] == "Host"]
        arguments = {"remindi_id": chance.choice(self._items), "limit": 5}
        tool = chance.choice(["remindi_list", "remindi_check", "remindi_history"])
        era = chance.choice(ERAS)
        body, headers = envelope("tools/call", {"name": tool, "arguments": arguments}, era)
        return Draft("POST", "/mcp", [*host, ("Authorization", f"Bearer {TOKEN}"), *headers], body)


# --------------------------------------------------------------------- mutations


def _method(chance: random.Random, draft: Draft) -> None:
    draft.method = chance.choice(METHODS)


def _segment(chance: random.Random, draft: Draft) -> None:
    path, mark, query = draft.target.partition("?")
    segments = path.split("/")
    place = chance.randrange(1, len(segments))
    match chance.randrange(3):
        case 0:
            segments[place] = chance.choice(SEGMENTS)
        case 1:
            segments.insert(place, chance.choice(SEGMENTS))
        case _:
            del segments[place]
    draft.target = ("/".join(segments) or "/") + mark + query


def _query(chance: random.Random, draft: Draft) -> None:
    parts = "&".join(chance.choices(QUERIES, k=chance.randint(1, 3))).replace(" ", "%20")
    draft.target += ("&" if "?" in draft.target else "?") + parts


def _header_left_out(chance: random.Random, draft: Draft) -> None:
    if draft.headers:
        del draft.headers[chance.randrange(len(draft.headers))]


def _header_added(chance: random.Random, draft: Draft) -> None:
    draft.headers.insert(chance.randint(0, len(draft.headers)), chance.choice(HEADERS))


def _header_instead(chance: random.Random, draft: Draft) -> None:
    name, value = chance.choice(HEADERS)
    draft.headers = [pair for pair in draft.headers if pair[0].lower() != name.lower()] + [(name, value)]


def _header_changed(chance: random.Random, draft: Draft) -> None:
    if draft.headers:
        place = chance.randrange(len(draft.headers))
        name, value = draft.headers[place]
        changed = [value * 2, value[:-1], value.upper(), f" {value}\t", value + ",x", name, "\u00ff"]
        draft.headers[place] = (name, chance.choice(changed))


def _header_doubled(chance: random.Random, draft: Draft) -> None:
    if draft.headers:
        draft.headers.append(chance.choice(draft.headers))


def _value(chance: random.Random, draft: Draft) -> None:
    """One value somewhere within the body."""
    node = draft.body
    while isinstance(node, dict) and node:
        name = chance.choice(sorted(node))
        if not isinstance(node[name], dict) or chance.random() < 0.3:
            node[name] = deepcopy(chance.choice(ODD_VALUES))
            return
        node = node[name]


def _member(chance: random.Random, draft: Draft) -> None:
    """A member more, or one less."""
    if isinstance(draft.body, dict):
        if draft.body and chance.random() < 0.5:
            del draft.body[chance.choice(sorted(draft.body))]
        else:
            draft.body[chance.choice(ODD_TEXTS)] = deepcopy(chance.choice(ODD_VALUES))


def _bytes(chance: random.Random, draft: Draft) -> None:
    """Some bytes of the body, or all of them."""
    if chance.random() < 0.5:
        draft.body = chance.choice(ODD_JSON)
    elif draft.body is not None:
        text = bytearray(draft.body if isinstance(draft.body, bytes) else json.dumps(draft.body).encode())
        for _ in range(chance.randint(1, 4) if text else 0):
            text[chance.randrange(len(text))] = chance.randrange(256)
        draft.body = bytes(text[: chance.randint(0, len(text))] if chance.random() < 0.3 else text)


def _framing(chance: random.Random, draft: Draft) -> None:
    draft.framing = chance.choice(
        [
            [("Content-Length", "5")],
            [("Content-Length", "100000")],
            [("Content-Length", "-1")],
            [("Content-Length", "1"), ("Content-Length", "2")],
            [("Content-Length", "9" * 30)],
            [("Transfer-Encoding", "chunked")],
            [("Transfer-Encoding", "gzip, chunked")],
            [("Transfer-Encoding", "chunked"), ("Content-Length", "3")],
            [("Transfer-Encoding", "x")],
        ]
    )


MUTATIONS: Final[tuple[Mutation, ...]] = (
    _method,
    _segment,
    _segment,
    _query,
    _query,
    _header_left_out,
    _header_added,
    _header_instead,
    _header_changed,
    _header_doubled,
    _value,
    _value,
    _value,
    _member,
    _bytes,
    _framing,
)
"""Each as often as it stands here."""
