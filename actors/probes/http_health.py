"""``http_health``: an HTTPS address answers as expected (contract 7.4).

One GET a hop, on a connection of its own to a checked address, with nothing of the environment: no proxy, no
cookie, no credentials. What libraries would decide (redirects, retries, trust, decoding) is decided here.
"""

import http.client
import io
import logging
import re
from collections.abc import Callable
from contextlib import closing
from typing import Any, Final, NamedTuple
from urllib.parse import urljoin, urlsplit

from requests import PreparedRequest, Request, RequestException
from requests.adapters import HTTPAdapter
from urllib3 import BaseHTTPResponse, HTTPSConnectionPool
from urllib3.connection import HTTPSConnection
from urllib3.exceptions import HTTPError
from urllib3.util import Url, parse_url
from urllib3.util.response import assert_header_parsing

from actors.probes.connecting import Unreachable, checked_addresses, connect
from actors.probes.looking import Deadline, Outcome, Outside
from actors.probes.outcomes import UNKNOWN_ALIAS, Settled
from actors.probes.tls import DeadlineSocket, start_tls
from remindi import __version__
from remindi.adapters import HttpAlias, HttpHealthConfiguration, HttpParameters
from remindi.items import ConditionStatus

HEALTHY: Final = Outcome(ConditionStatus.SATISFIED, "The answer is as expected.")
OTHER_STATUS: Final = Outcome(ConditionStatus.UNSATISFIED, "The answer has another status than expected.")
OTHER_TYPE: Final = Outcome(ConditionStatus.UNSATISFIED, "The answer has another content type than expected.")
STATUS_NOT_CONFIGURED: Final = Outcome(
    ConditionStatus.ERROR, "The expected status is not one of those that the alias allows."
)
NOT_ASKED: Final = Outcome(ConditionStatus.ERROR, "The URL of the alias names no host that can be asked.")
NOT_CONNECTED: Final = Outcome(ConditionStatus.ERROR, "No address accepts a connection.")
NO_ANSWER: Final = Outcome(ConditionStatus.ERROR, "The connection brought no complete, well-formed answer.")
TOO_LARGE: Final = Outcome(ConditionStatus.ERROR, "The body of the answer is larger than allowed.")
REDIRECT_REFUSED: Final = Outcome(ConditionStatus.ERROR, "The answer is a redirect that is not followed.")

MAX_REDIRECTS: Final = 3
DEFAULT_PORT: Final = 443
READ_BYTES: Final = 65_536
MAX_LINE: Final = 65_536
MAX_LINES: Final = 10_000
"""Lines of one answer, those between the chunks of its body among them."""
_STATUS_LINE: Final = re.compile(rb"(HTTP/1\.[0-9]) ([1-9][0-9]{2})(?: [^\r\n]*)?\r?\n")
_CHUNK_LINE: Final = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]*)?\r?\n")
HEADERS: Final = {
    "User-Agent": f"remindi/{__version__}",
    "Accept": "*/*",
    "Accept-Encoding": "identity",
    "Connection": "close",
}
_FOLLOWED: Final = frozenset({301, 302, 303, 307, 308})
_BODILESS: Final = frozenset({101, 204, 304})

# APPSEC: what urllib3 logs names hosts and URLs (contract 17.4); no filter may bring it out.
logging.getLogger("urllib3").propagate = False

Reach = Callable[[str, int], DeadlineSocket]
"""From a host and a port to a connection that may be used."""


class Answer(NamedTuple):
    """What counts of an answer, once its body was read to the end."""

    status: int
    content_type: str
    """The media type alone, in lower case; empty without one."""
    location: str | None


def probe(
    parameters: HttpParameters, configuration: HttpHealthConfiguration, outside: Outside, deadline: Deadline
) -> Outcome:
    """Ask the address of the alias, follow the redirects that it may follow, and judge the last answer.

    Raises:
        Settled: anything that makes the outcome an error.
        DeadlineReached: the answer was not there by then.
    """
    alias = configuration.aliases.get(parameters.target)
    if alias is None:
        return UNKNOWN_ALIAS
    expected = alias.expected_statuses
    if parameters.expected_status is not None:
        if parameters.expected_status not in expected:
            return STATUS_NOT_CONFIGURED
        expected = (parameters.expected_status,)

    def reach(host: str, port: int) -> DeadlineSocket:
        addresses = checked_addresses(
            host, allow_private=alias.allow_private, outside=outside, deadline=deadline
        )
        try:
            connection = connect(addresses, port, deadline)
        except Unreachable:
            raise Settled(NOT_CONNECTED) from None
        return start_tls(connection, host.rstrip("."), deadline)

    answer = _follow(alias, reach)
    if answer.status not in expected:
        return OTHER_STATUS
    if alias.expected_content_type is not None and answer.content_type != _media_type(
        alias.expected_content_type
    ):
        return OTHER_TYPE
    return HEALTHY


def _follow(alias: HttpAlias, reach: Reach) -> Answer:
    url = alias.url
    for _ in range(1 + MAX_REDIRECTS):
        answer = _ask(url, alias.max_response_bytes, reach)
        if not alias.allow_redirects or not 300 <= answer.status < 400:
            return answer
        url = _target(url, answer)
    raise Settled(REDIRECT_REFUSED)


def _target(url: str, answer: Answer) -> str:
    """Where a redirect leads, if it may be followed: the same scheme, host and port, no user info."""
    location = answer.location
    if answer.status not in _FOLLOWED or not location:
        raise Settled(REDIRECT_REFUSED)
    # NOTE: a location is a URI reference (RFC 9110, 10.2.2), which is visible ASCII; others are not repaired.
    if "\\" in location or not all("!" <= character <= "~" for character in location):
        raise Settled(REDIRECT_REFUSED)
    try:
        target = urljoin(url, location)
        there = parse_url(target)
        has_user = "@" in urlsplit(target).netloc
    except ValueError:
        # `LocationParseError` is one.
        raise Settled(REDIRECT_REFUSED) from None
    if has_user or _origin(there) != _origin(parse_url(url)):
        raise Settled(REDIRECT_REFUSED)
    return target


def _origin(url: Url) -> tuple[str | None, str | None, int]:
    """Scheme, host and port; ``parse_url`` gives the first two in lower case."""
    return url.scheme, url.host, DEFAULT_PORT if url.port is None else url.port


def _ask(url: str, cap: int, reach: Reach) -> Answer:
    """Send one GET and read its answer to the end."""
    try:
        request = Request("GET", url, headers=HEADERS).prepare()
    except RequestException:
        raise Settled(NOT_ASKED) from None
    try:
        with closing(_Transport(reach)) as transport, transport.send(request, stream=True) as response:
            raw: BaseHTTPResponse = response.raw
            _read_body(raw, cap)
            return Answer(
                raw.status, _media_type(raw.headers.get("Content-Type", "")), raw.headers.get("Location")
            )
    except (RequestException, HTTPError, http.client.HTTPException, OSError):
        raise Settled(NO_ANSWER) from None


def _read_body(raw: BaseHTTPResponse, cap: int) -> None:
    """Read a body as it comes, without decoding it and without keeping it.

    Raises:
        Settled: it is larger than the cap, or says that it will be, or its length is no number.
    """
    declared = raw.headers.get("Content-Length")
    if declared is not None and not raw.chunked and raw.status not in _BODILESS:
        if not (declared.isascii() and declared.isdigit()):
            raise Settled(NO_ANSWER)
        length = declared.lstrip("0") or "0"
        if len(length) > len(str(cap)) or int(length) > cap:
            raise Settled(TOO_LARGE)
    left = cap
    while chunk := raw.read(min(left + 1, READ_BYTES), decode_content=False):
        left -= len(chunk)
        if left < 0:
            raise Settled(TOO_LARGE)


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


class _Lines(io.BufferedReader):
    """What a peer sends, whose lines have an end, and are not endless in number.

    ``http.client`` takes the end of the connection for the end of a head, and half a head for an answer; it
    takes interim answers, trailers and chunks for as long as they come.
    """

    _left = MAX_LINES

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(size)
        if not line.endswith(b"\n") and (size is None or not 0 <= size <= len(line)):
            raise http.client.IncompleteRead(line)
        self._left -= 1
        if self._left < 0:
            raise http.client.IncompleteRead(b"")
        return line


class _Response(http.client.HTTPResponse):
    """A final, well-formed answer."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fp = _Lines(self.fp.detach())

    def begin(self) -> None:
        """Read the head; after a malformed line the rest would pass for body (``http.client``)."""
        super().begin()
        assert_header_parsing(self.headers)
        if any("\0" in value for value in self.headers.values()):
            raise http.client.BadStatusLine("")

    def _read_status(self) -> tuple[str, int, str]:
        """Pass over interim answers (RFC 9110, 15.2); left alone, 103 (Early Hints) would be the answer."""
        while True:
            line = self.fp.readline(MAX_LINE + 1)
            found = _STATUS_LINE.fullmatch(line)
            if found is None:
                raise http.client.BadStatusLine("")
            status = int(found[2])
            if status >= 200 or status == http.client.SWITCHING_PROTOCOLS:
                return found[1].decode("ascii"), status, ""
            http.client.parse_headers(self.fp)

    def _read_next_chunk_size(self) -> int:
        """The size of the next chunk (RFC 9112, 7.1)."""
        # APPSEC: `http.client` takes -1 for a size, and reads without an end to it.
        found = _CHUNK_LINE.fullmatch(self.fp.readline(MAX_LINE + 1))
        if found is None:
            raise http.client.IncompleteRead(b"")
        return int(found[1], 16)


class _Connection(HTTPSConnection):
    """A connection that is made by us: host name, Host header and certificate name stay what the URL says."""

    response_class = _Response

    def __init__(self, *args: Any, reach: Reach, **options: Any) -> None:
        super().__init__(*args, **options)
        self._reach = reach

    def connect(self) -> None:
        """Resolve, check, connect and verify (``Reach``)."""
        # `host` lacks the dot at the end of a full name, without which a search list would be tried.
        self.sock = self._reach(self._dns_host, self.port)
        self.is_verified = True


class _Pool(HTTPSConnectionPool):
    ConnectionCls = _Connection


class _Transport(HTTPAdapter):
    """Sends one request of a hop: neither sessions nor pools outlive it."""

    def __init__(self, reach: Reach) -> None:
        super().__init__()
        self._reach = reach
        self._pool: _Pool | None = None

    def get_connection_with_tls_context(
        self, request: PreparedRequest, *_args: Any, **_options: Any
    ) -> HTTPSConnectionPool:
        """The pool of the request's host, whatever proxies there may be (``HTTPAdapter``)."""
        url = parse_url(request.url or "")
        # The pool hands what it does not know on to its connections.
        self._pool = _Pool(url.host or "", _origin(url)[2], reach=self._reach)
        return self._pool

    def close(self) -> None:
        """Close the connection (``HTTPAdapter``)."""
        super().close()
        if self._pool is not None:
            self._pool.close()
