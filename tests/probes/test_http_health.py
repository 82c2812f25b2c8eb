"""``http_health`` against real peers: what it sends, whom it believes, how much it takes (contract 7.4)."""

import gzip
import logging
import socket
import ssl
import struct
import threading
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.probes import http_health, outcomes
from actors.probes import tls as secured
from actors.probes.adapters import TIME_IS_UP
from actors.probes.looking import Outcome
from remindi import __version__
from tests.probes.conftest import NAME, Authority
from tests.probes.looks import SOON, Names, NotConfigurable, http
from tests.probes.peers import PATIENCE, Conversation, Script, answering, head, in_turn, ok, peer, redirect

HERE = Names({NAME: ["127.0.0.1"]})


# -------------------------------------------------------------------- the ordinary


def test_a_healthy_address_satisfies(tls: ssl.SSLContext) -> None:
    with peer(answering(ok()), tls) as server:
        assert http(f"https://{NAME}:{server.port}/health", resolve=HERE) == http_health.HEALTHY


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_ip_literals_work(host: str, tls: ssl.SSLContext) -> None:
    with peer(answering(ok()), tls, host) as server:
        literal = f"[{host}]" if ":" in host else host
        assert http(f"https://{literal}:{server.port}/") == http_health.HEALTHY
    assert f"Host: {literal}:{server.port}\r\n".encode() in server.requests[0]


def test_the_request_is_one_plain_get(tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with peer(answering(ok()), tls) as server:
        url = f"https://{NAME}:{server.port}/health?deep=yes&name=%C3%A4"
        assert http(url, resolve=HERE) == http_health.HEALTHY
    (request,) = server.requests
    first, *lines = request.decode().rstrip("\r\n").split("\r\n")
    assert first == "GET /health?deep=yes&name=%C3%A4 HTTP/1.1"
    assert sorted(lines) == [
        "Accept-Encoding: identity",
        "Accept: */*",
        "Connection: close",
        f"Host: {NAME}:{server.port}",
        f"User-Agent: remindi/{__version__}",
    ]


def test_credentials_of_the_machine_stay_there(
    tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    netrc = tmp_path_factory.mktemp("home") / "netrc"
    netrc.write_text(f"machine {NAME} login somebody password something\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    cookie = ok(b"", "Set-Cookie: a=b; Path=/", "Location: /next", status="302 Found")
    with peer(in_turn(answering(cookie), answering(ok())), tls) as server:
        url = f"https://{NAME}:{server.port}/"
        assert http(url, resolve=HERE, redirects=True) == http_health.HEALTHY
    assert len(server.requests) == 2
    for request in server.requests:
        assert b"cookie" not in request.lower()
        assert b"authorization" not in request.lower()


@pytest.mark.parametrize(
    ("status", "expected", "narrowed", "outcome"),
    [
        ("204 No Content", [200, 204], None, http_health.HEALTHY),
        ("204 No Content", [200, 204], 204, http_health.HEALTHY),
        ("200 OK", [200, 204], 204, http_health.OTHER_STATUS),
        ("503 Service Unavailable", [200], None, http_health.OTHER_STATUS),
        ("503 Service Unavailable", [503], None, http_health.HEALTHY),
        ("302 Found", [302], None, http_health.HEALTHY),
        ("304 Not Modified", [304], None, http_health.HEALTHY),
        ("301 Moved", [200], None, http_health.OTHER_STATUS),
        ("599 Whatever", [599], None, http_health.HEALTHY),
        ("777 Whatever", [200], None, http_health.OTHER_STATUS),
    ],
)
def test_the_status_decides(
    status: str, expected: list[int], narrowed: int | None, outcome: object, tls: ssl.SSLContext
) -> None:
    with peer(answering(head(status, "Content-Length: 0", "Location: /x")), tls) as server:
        url = f"https://127.0.0.1:{server.port}/"
        assert http(url, statuses=expected, expected_status=narrowed) == outcome
        assert server.seen()[0] == 1


def test_a_status_that_the_alias_does_not_allow_is_not_asked_for(tls: ssl.SSLContext) -> None:
    with peer(answering(ok()), tls) as server:
        url = f"https://127.0.0.1:{server.port}/"
        assert http(url, statuses=[200], expected_status=204) == http_health.STATUS_NOT_CONFIGURED
        assert server.seen() == (0, 0)


@pytest.mark.parametrize("content_type", ["application/json", "APPLICATION/json ; charset=utf-8"])
def test_the_content_type_is_compared_without_case_and_parameters(
    content_type: str, tls: ssl.SSLContext
) -> None:
    with peer(answering(ok(b"{}", f"Content-Type: {content_type}")), tls) as server:
        url = f"https://127.0.0.1:{server.port}/"
        assert http(url, content_type="Application/JSON") == http_health.HEALTHY


@pytest.mark.parametrize("headers", [["Content-Type: text/html"], ["Content-Type: application/json+x"], []])
def test_another_content_type_does_not_satisfy(headers: list[str], tls: ssl.SSLContext) -> None:
    with peer(answering(ok(b"{}", *headers)), tls) as server:
        url = f"https://127.0.0.1:{server.port}/"
        assert http(url, content_type="application/json") == http_health.OTHER_TYPE


@pytest.mark.parametrize(
    "interim", [head("100 Continue"), head("103 Early Hints", "Link: </x>"), head("102 Processing") * 3]
)
def test_interim_answers_are_passed_over(interim: bytes, tls: ssl.SSLContext) -> None:
    with peer(answering(interim, ok()), tls) as server:
        assert http(f"https://127.0.0.1:{server.port}/") == http_health.HEALTHY


def test_the_connection_is_closed_though_the_peer_would_keep_it(tls: ssl.SSLContext) -> None:
    ended = threading.Event()

    def script(conversation: Conversation) -> None:
        conversation.request()
        conversation.say(ok())
        with suppress(OSError):
            conversation.rest()
        ended.set()

    with peer(script, tls) as server:
        assert http(f"https://127.0.0.1:{server.port}/") == http_health.HEALTHY
        assert ended.wait(PATIENCE)


@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(
            st.sampled_from([*"abc.:/@?#%[]*_-~ \\", "[::1]", "%41", "xn--", "\xe9", ":443", "//", "0x7f"])
        ).map("".join),
    )
)
def test_any_url_that_may_be_configured_ends_in_few_words(rest: str) -> None:
    url = f"https://{rest}"
    try:
        outcome = http(url, resolve=lambda _host: ())
    except NotConfigurable:
        return
    assert outcome in (outcomes.NOT_RESOLVED, http_health.NOT_ASKED)


# -------------------------------------------------------------------------- trust


@pytest.mark.parametrize(
    ("names", "year", "trusted", "outcome"),
    [
        (["other.example"], None, True, secured.OTHER_NAME),
        ([NAME], 2020, True, secured.EXPIRED),
        ([NAME], 2999, True, secured.EXPIRED),
        ([NAME], None, False, secured.NOT_TRUSTED),
        (["127.0.0.1"], None, True, secured.OTHER_NAME),
        ([f"*.{NAME}"], None, True, secured.OTHER_NAME),
    ],
    ids=["wrong name", "expired", "not yet", "unknown authority", "address for a name", "wildcard below"],
)
def test_a_certificate_that_is_not_good_is_not_accepted(
    names: list[str], year: int | None, trusted: bool, outcome: Outcome, authority: Authority
) -> None:
    context = authority.context(*names, year=year, trusted=trusted)
    with peer(answering(ok()), context) as server:
        assert http(f"https://{NAME}:{server.port}/", resolve=HERE) == outcome
        assert not server.requests


def test_a_certificate_of_another_address_is_for_another_name(authority: Authority) -> None:
    with peer(answering(ok()), authority.context("127.0.0.2")) as server:
        assert http(f"https://127.0.0.1:{server.port}/") == secured.OTHER_NAME


def test_a_certificate_that_is_signed_by_itself_is_not_trusted(authority: Authority) -> None:
    with peer(answering(ok()), authority.context_signed_by_itself()) as server:
        assert http(f"https://{NAME}:{server.port}/", resolve=HERE) == secured.NOT_TRUSTED


def test_a_certificate_that_is_not_good_in_another_way_is_not_accepted_either() -> None:
    # OpenSSL has a hundred reasons more; one sentence serves them.
    revoked = ssl.SSLCertVerificationError()
    revoked.verify_code = 23
    assert secured._outcome_of(revoked) == secured.NOT_ACCEPTED


def test_a_certificate_that_names_the_peer_in_prose_only_is_not_accepted(authority: Authority) -> None:
    with peer(answering(ok()), authority.context_in_prose(NAME)) as server:
        assert http(f"https://{NAME}:{server.port}/", resolve=HERE) == secured.OTHER_NAME


def test_the_name_asked_for_is_the_name_that_is_verified(authority: Authority) -> None:
    named: list[str | None] = []
    context = authority.context()
    context.sni_callback = lambda _socket, name, _context: named.append(name)
    with peer(answering(ok()), context) as server:
        assert (
            http(
                f"https://{NAME.upper()}.:{server.port}/",
                resolve=Names({f"{NAME}.": ["127.0.0.1"], NAME: ["127.0.0.1"]}),
            )
            == http_health.HEALTHY
        )
    assert named == [NAME]


def test_old_tls_is_refused(authority: Authority) -> None:
    context = authority.context()
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    with peer(answering(ok()), context) as server:
        assert http(f"https://{NAME}:{server.port}/", resolve=HERE) == secured.TLS_FAILED


def test_the_context_that_probes_share_stays_as_it_was_made(tls: ssl.SSLContext) -> None:
    context = secured.client_context()
    trusted = context.get_ca_certs()
    with peer(answering(ok()), tls) as server:
        assert http(f"https://127.0.0.1:{server.port}/") == http_health.HEALTHY
    assert secured.client_context() is context
    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert context.get_ca_certs() == trusted


def test_a_machine_that_trusts_nobody_gets_a_bundle(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    empty = tmp_path_factory.mktemp("empty")
    monkeypatch.setenv("SSL_CERT_FILE", str(empty / "none.pem"))
    for folder in (empty, empty / "none"):
        monkeypatch.setenv("SSL_CERT_DIR", str(folder))
        secured.client_context.cache_clear()
        assert len(secured.client_context().get_ca_certs()) > 50


# ------------------------------------------------------------------------ failing


def reset(conversation: Conversation) -> None:
    """Tear the connection down in the middle of an answer."""
    conversation.request()
    conversation.say(head("200 OK", "Content-Length: 100") + b"half")
    raw = conversation._connection
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def endless(start: bytes, piece: bytes) -> Script:
    """Send a start, and then the piece without end."""

    def script(conversation: Conversation) -> None:
        conversation.request()
        conversation.say(start)
        conversation.flood(piece)

    return script


BROKEN: dict[str, Script] = {
    "closes without an answer": answering(),
    "answers garbage": answering(b"\x00\xff garbage\r\n\r\n"),
    "speaks HTTP/0.9": answering(b"<html>fine</html>"),
    "speaks another protocol": answering(b"220 mail.example ESMTP\r\n"),
    "ends in the head": answering(b"HTTP/1.1 200 OK\r\nContent-"),
    "ends in the status line": answering(b"HTTP/1.1 20"),
    "ends before the empty line": answering(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"),
    "has a header without a colon": answering(head("200 OK", "no colon", "Content-Length: 4") + b"fine"),
    "ends in the trailers": answering(head("200 OK", "Transfer-Encoding: chunked") + b"0\r\nA: b"),
    "has a status that is no number": answering(head("abc OK") + b"x"),
    "has a line without end": endless(b"HTTP/1.1 200 OK\r\nX: ", b"x" * 4_096),
    "sends interim answers without end": endless(b"", head("103 Early Hints")),
    "sends trailers without end": endless(
        head("200 OK", "Transfer-Encoding: chunked") + b"0\r\n", b"A: b\r\n" * 100
    ),
    "has headers without end": endless(b"HTTP/1.1 200 OK\r\n", b"A: b\r\n"),
    "sends less than it declares": answering(head("200 OK", "Content-Length: 5") + b"four"),
    "declares a length that is no number": answering(head("200 OK", "Content-Length: few") + b"fine"),
    "declares a negative length": answering(head("200 OK", "Content-Length: -1") + b"fine"),
    "declares two lengths": answering(head("200 OK", "Content-Length: 4", "Content-Length: 5") + b"fine"),
    "declares a length in other digits": answering(head("200 OK", "Content-Length: \xb2") + b"fi"),
    "ends in a chunk": answering(head("200 OK", "Transfer-Encoding: chunked") + b"5\r\nfo"),
    "ends without the last chunk": answering(head("200 OK", "Transfer-Encoding: chunked") + b"4\r\nfine\r\n"),
    "has a chunk of no size": answering(head("200 OK", "Transfer-Encoding: chunked") + b"x\r\nfine\r\n"),
    "resets": reset,
    "has a NUL in a header": answering(head("200 OK", "X: a\0b", "Content-Length: 4") + b"fine"),
    **{
        f"begins with {line!r}": answering(f"{line}\r\nContent-Length: 4\r\n\r\nfine".encode())
        for line in (
            "HTTP/1.1 2_0_0 OK",
            "HTTP/1.1 +200 OK",
            "HTTP/1.x200 OK",
            "HTTP/1.1 0200 OK",
            "HTTP/2 200",
        )
    },
    **{
        f"has a chunk of {size}": endless(
            head("200 OK", "Transfer-Encoding: chunked") + f"{size}\r\n".encode(), b"x" * 4_096
        )
        for size in ("-1", "-2", "+4", "0x4", "1_0", " 4", "\u0664", "f" * 17, "")
    },
}


@pytest.mark.parametrize("script", BROKEN.values(), ids=BROKEN)
def test_an_error_it_is_when_the_peer(script: Script, tls: ssl.SSLContext) -> None:
    with peer(script, tls) as server:
        assert http(f"https://127.0.0.1:{server.port}/") == http_health.NO_ANSWER


def test_a_peer_without_tls_is_an_error() -> None:
    with peer(lambda it: it.say(ok())) as server:
        assert http(f"https://127.0.0.1:{server.port}/") == secured.NO_TLS


def test_a_peer_that_closes_at_once_is_an_error() -> None:
    with peer(lambda _: None) as server:
        assert http(f"https://127.0.0.1:{server.port}/") == secured.TLS_FAILED


def test_nobody_there_is_an_error(free_port: int) -> None:
    assert http(f"https://127.0.0.1:{free_port}/") == http_health.NOT_CONNECTED


def test_the_dot_at_the_end_of_a_full_name_is_asked_for_and_not_part_of_the_certificate(
    tls: ssl.SSLContext,
) -> None:
    names = Names({f"{NAME}.": ["127.0.0.1"]})
    with peer(answering(ok()), tls) as server:
        assert http(f"https://{NAME}.:{server.port}/", resolve=names) == http_health.HEALTHY


def test_a_name_that_does_not_resolve_is_an_error() -> None:
    assert http("https://nobody.invalid/", resolve=Names({"nobody.invalid": []})) == outcomes.NOT_RESOLVED
    assert http("https://nobody.invalid/") == outcomes.NOT_RESOLVED


# --------------------------------------------------------------------------- size


def chunked(*chunks: bytes) -> bytes:
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in (*chunks, b""))
    return head("200 OK", "Transfer-Encoding: chunked") + body


FITTING = {
    "exactly": ok(b"x" * 100),
    "chunked": chunked(b"x" * 60, b"x" * 40),
    "until the end of the connection": head("200 OK") + b"x" * 100,
    "followed by more than was declared": ok(b"x" * 100) + b"y" * 1_000,
    "with a length behind zeros": head("200 OK", f"Content-Length: {'0' * 5_000}100") + b"x" * 100,
    "of a status that has none": head("304 Not Modified", "Content-Length: 5000"),
    "compressed, which is not looked at": ok(
        gzip.compress(b"x" * 10_000_000)[:100], "Content-Encoding: gzip"
    ),
}


@pytest.mark.parametrize("answer", FITTING.values(), ids=FITTING)
def test_a_body_under_the_cap_is_taken(answer: bytes, tls: ssl.SSLContext) -> None:
    with peer(answering(answer), tls) as server:
        url = f"https://127.0.0.1:{server.port}/"
        assert http(url, cap=100, statuses=[200, 304]) == http_health.HEALTHY


LARGE = {
    "by one": ok(b"x" * 101),
    "chunked": chunked(b"x" * 60, b"x" * 41),
    "until the end of the connection": head("200 OK") + b"x" * 101,
    "with another status than expected": ok(b"x" * 101, status="503 Service Unavailable"),
    "of a redirect": ok(b"x" * 101, "Location: /next", status="302 Found"),
    "compressed": ok(gzip.compress(bytes(500_000)), "Content-Encoding: gzip"),
}


@pytest.mark.parametrize("answer", LARGE.values(), ids=LARGE)
def test_a_body_over_the_cap_is_an_error(answer: bytes, tls: ssl.SSLContext) -> None:
    with peer(answering(answer), tls) as server:
        url = f"https://127.0.0.1:{server.port}/"
        assert http(url, cap=100, redirects=True) == http_health.TOO_LARGE


@pytest.mark.parametrize("length", ["101", "99999999999999999999", "9" * 5_000])
def test_a_declared_length_over_the_cap_fails_before_the_body(length: str, tls: ssl.SSLContext) -> None:
    def script(conversation: Conversation) -> None:
        conversation.request()
        conversation.say(head("200 OK", f"Content-Length: {length}"))
        conversation.keep()

    with peer(script, tls) as server:
        assert http(f"https://127.0.0.1:{server.port}/", cap=100) == http_health.TOO_LARGE


@pytest.mark.parametrize("start", [head("200 OK"), head("200 OK", "Transfer-Encoding: chunked")])
def test_an_endless_body_ends_at_the_cap(start: bytes, tls: ssl.SSLContext) -> None:
    with peer(endless(start, b"1000\r\n" + b"x" * 4_096 + b"\r\n"), tls) as server:
        assert http(f"https://127.0.0.1:{server.port}/", cap=1_048_576) == http_health.TOO_LARGE


def test_a_small_body_in_ever_so_many_chunks_is_no_answer(tls: ssl.SSLContext) -> None:
    start = head("200 OK", "Transfer-Encoding: chunked")
    with peer(endless(start, b"1\r\nx\r\n" * 100), tls) as server:
        assert http(f"https://127.0.0.1:{server.port}/", cap=1_048_576) == http_health.NO_ANSWER


# --------------------------------------------------------------------------- time


def silent(conversation: Conversation) -> None:
    conversation.keep()


def slow(*before: bytes, piece: bytes) -> Script:
    def script(conversation: Conversation) -> None:
        conversation.request()
        for part in before:
            conversation.say(part)
        conversation.dribble(piece)

    return script


SLOW: dict[str, Script] = {
    "says nothing": silent,
    "dribbles the status": slow(piece=b"H"),
    "dribbles interim answers": slow(piece=head("103 Early Hints")),
    "dribbles headers": slow(b"HTTP/1.1 200 OK\r\nX-Slow: ", piece=b"x"),
    "dribbles a body": slow(head("200 OK", "Content-Length: 60000"), piece=b"x"),
    "dribbles a body without length": slow(head("200 OK"), piece=b"x"),
    "dribbles chunks": slow(head("200 OK", "Transfer-Encoding: chunked"), piece=b"1\r\nx\r\n"),
    "dribbles trailers": slow(head("200 OK", "Transfer-Encoding: chunked") + b"0\r\n", piece=b"A: b\r\n"),
    "stops in the body": slow(head("200 OK", "Content-Length: 60000") + b"half", piece=b""),
}


@pytest.mark.parametrize("script", SLOW.values(), ids=SLOW)
def test_unknown_it_is_when_the_peer(script: Script, tls: ssl.SSLContext) -> None:
    with peer(script, tls) as server:
        assert http(f"https://127.0.0.1:{server.port}/", seconds=SOON) == TIME_IS_UP


def crawling_handshake(conversation: Conversation) -> None:
    """Promise a long record and send it byte by byte."""
    conversation.say(b"\x16\x03\x03\x3f\xff")
    conversation.dribble(b"\x02")


@pytest.mark.parametrize("script", [silent, crawling_handshake])
def test_a_handshake_that_does_not_end_is_unknown(script: Script) -> None:
    with peer(script) as server:
        assert http(f"https://127.0.0.1:{server.port}/", seconds=SOON) == TIME_IS_UP


def test_the_deadline_is_one_for_all_hops(tls: ssl.SSLContext) -> None:
    with peer(in_turn(answering(redirect("/next")), silent), tls) as server:
        url = f"https://127.0.0.1:{server.port}/"
        assert http(url, redirects=True, seconds=SOON) == TIME_IS_UP


# ---------------------------------------------------------------------- redirects


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed_within_the_origin(status: int, tls: ssl.SSLContext) -> None:
    first = answering(redirect("/there?x=1#part", f"{status} Moved"))
    with peer(in_turn(first, answering(ok())), tls) as server:
        url = f"https://{NAME}:{server.port}/here"
        assert http(url, resolve=HERE, redirects=True) == http_health.HEALTHY
        assert server.seen()[0] == 2
    assert server.requests[1].startswith(b"GET /there?x=1 HTTP/1.1\r\n")


@pytest.mark.parametrize(
    "location", ["next", "?again", "//{NAME}:{port}/x", "HTTPS://{name}:{port}/", "https:/x"]
)
def test_a_location_may_be_relative(location: str, tls: ssl.SSLContext) -> None:
    def first(conversation: Conversation) -> None:
        conversation.request()
        conversation.say(
            redirect(location.replace("{NAME}", NAME.upper()).format(name=NAME, port=server.port))
        )

    with peer(in_turn(first, answering(ok())), tls) as server:
        url = f"https://{NAME}:{server.port}/here/now"
        assert http(url, resolve=HERE, redirects=True) == http_health.HEALTHY


def test_three_redirects_are_followed_and_a_fourth_is_not(tls: ssl.SSLContext) -> None:
    for hops, outcome in ((3, http_health.HEALTHY), (4, http_health.REDIRECT_REFUSED)):
        with peer(in_turn(*[answering(redirect("/next"))] * hops, answering(ok())), tls) as server:
            url = f"https://127.0.0.1:{server.port}/"
            assert http(url, redirects=True) == outcome
            assert server.seen()[0] == 4


@pytest.mark.parametrize(
    "location",
    [
        None,
        "",
        "https://other.example:{port}/",
        "https://{name}.:{port}/",
        "https://{name}/",
        "https://{name}:{other}/",
        "https://{name}:{port}@other.example/",
        "//other.example:{port}/",
        "http://{name}:{port}/",
        "https://user@{name}:{port}/",
        "https://user:word@{name}:{port}/",
        "https://@{name}:{port}/",
        "https://127.0.0.1:{port}/",
        "https://[::1/",
        "https://{name}:port/",
        "https://{name}:99999/",
        "https:\\\\{name}:{port}\\",
        "/with space",
        "/\xe4",
        "ftp://{name}:{port}/",
        "file:///etc/hostname",
        "javascript:x",
    ],
)
def test_other_locations_are_refused_and_nobody_is_asked(location: str | None, tls: ssl.SSLContext) -> None:
    def script(conversation: Conversation) -> None:
        conversation.request()
        conversation.say(
            redirect(location and location.format(name=NAME, port=server.port, other=elsewhere.port))
        )

    names = Names({NAME: ["127.0.0.1"], f"{NAME}.": ["127.0.0.1"], "other.example": ["127.0.0.1"]})
    with peer(answering(ok()), tls) as elsewhere, peer(script, tls) as server:
        url = f"https://{NAME}:{server.port}/"
        assert http(url, resolve=names, redirects=True) == http_health.REDIRECT_REFUSED
        assert server.seen()[0] == 1
        assert elsewhere.seen() == (0, 0)
    assert names.asked == [NAME]


@pytest.mark.parametrize(
    "status", ["300 Multiple Choices", "304 Not Modified", "305 Use Proxy", "306 x", "399 x"]
)
def test_another_3xx_is_refused_when_redirects_are_on(status: str, tls: ssl.SSLContext) -> None:
    with peer(answering(redirect("/next", status)), tls) as server:
        url = f"https://127.0.0.1:{server.port}/"
        code = int(status.split(maxsplit=1)[0])
        assert http(url, statuses=[code], redirects=True) == http_health.REDIRECT_REFUSED
        assert server.seen()[0] == 1


# ------------------------------------------------------------------------ silence


def test_nothing_of_a_target_reaches_the_log(tls: ssl.SSLContext) -> None:
    told: list[logging.LogRecord] = []

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told.append(record)

    listening = Listening()
    root = logging.getLogger()
    root.addHandler(listening)
    levels = {
        name: logging.getLogger(name).level for name in ("", "urllib3", "urllib3.connection", "requests")
    }
    try:
        for name in levels:
            logging.getLogger(name).setLevel(1)
        strange = head("200 OK", "no colon here", "Content-Length: 4") + b"fine"
        with peer(in_turn(answering(strange), answering(b"garbage\r\n\r\n")), tls) as server:
            http(f"https://{NAME}:{server.port}/secret-path", resolve=HERE)
            http(f"https://{NAME}:{server.port}/secret-path", resolve=HERE)
    finally:
        root.removeHandler(listening)
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
    assert told == []
