"""The wire: uvicorn's HTTP/1.1 protocol with the bounds it lacks, so that no client can hold us.

Uvicorn with httptools knows no limit for a request's head, no deadline for it, and none for a body that
nobody reads any more. Here each has one, and a refusal on this level looks like any other of ours.
"""

import asyncio
import logging
import secrets
import time
from typing import Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from remindi.identifiers import uuid7, uuid_text
from web.answers import Answer, refusal
from web.request_ids import REQUEST_ID_HEADER

log = logging.getLogger("remindi.http")

MAX_CONNECTIONS: Final = 512
MAX_HEAD_BYTES: Final = 32_768
"""Request line and headers together."""
HEAD_SECONDS: Final = 10.0
"""From the first byte of a request, or from the connection, to the end of the head."""
STALL_SECONDS: Final = 15.0
"""How long nothing may come while a body is incomplete."""
UNREAD_SECONDS: Final = 30.0
"""How long a client may take none of an answer that waits for it."""
LINGER_SECONDS: Final = 5.0
LINGER_BYTES: Final = 2_097_152
"""How much of a body is read after its answer went out: a client that still sends would otherwise lose it."""

_CLOSE: Final = (b"connection", b"close")
_MALFORMED: Final = refusal(400, "The HTTP request is malformed.", _CLOSE)
_HEAD_TOO_LARGE: Final = refusal(431, "Request line and headers are larger than 32768 bytes.", _CLOSE)
_HEAD_TOO_SLOW: Final = refusal(408, "The request did not arrive in time.", _CLOSE)
_BODY_STALLED: Final = refusal(408, "The body did not arrive in time.", _CLOSE)
_CROWDED: Final = refusal(503, "Too many connections are open; try again.", _CLOSE, (b"retry-after", b"1"))


class _HeadTooLarge(Exception):
    """Raised inside a callback of the parser, which wraps it."""


class _OtherAuthority(Exception):
    """A request line names another authority than Host does, or none at all."""


class Wire(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_begun = False
        self._head_bytes = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._body_timer: asyncio.TimerHandle | None = None
        self._reader_timer: asyncio.TimerHandle | None = None
        self._discarded = 0

    # ------------------------------------------------------------- connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, or turn it away when too many are open."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            self._refuse(_CROWDED)
            return
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._head_late)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_head_timer()
        self._stop_body_timer()
        self._stop_reader_timer()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Let the application wait, and the client read: what it has not taken is not kept for ever."""
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        """Go on: the client has read."""
        self._stop_reader_timer()
        super().resume_writing()

    def _watch_reader(self) -> None:
        unread = self.transport.get_write_buffer_size()
        self._reader_timer = self.loop.call_later(UNREAD_SECONDS, self._reader_late, unread)

    def _reader_late(self, unread: int) -> None:
        # A slow reader is one that reads: as long as it gets on, it is waited for.
        if self.transport.get_write_buffer_size() >= unread:
            self.transport.abort()
        else:
            self._watch_reader()

    def _stop_reader_timer(self) -> None:
        if self._reader_timer is not None:
            self._reader_timer.cancel()
            self._reader_timer = None

    def data_received(self, data: bytes) -> None:
        """Feed the parser; bytes of a head that spans several reads are counted as they come."""
        if self.transport.is_closing():
            return
        counted = self._head_begun
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._decline_upgrade()
            rest = data[upgrade.args[0] :]
            if rest:
                self.data_received(rest)
                return
        except httptools.HttpParserError as error:
            too_large = isinstance(error.__context__, _HeadTooLarge)
            self._refuse(_HEAD_TOO_LARGE if too_large else _MALFORMED)
            return
        if not self._answered() and self.cycle.more_body:
            self._stop_body_timer()
            self._body_timer = self.loop.call_later(STALL_SECONDS, self._body_stalled)
        if self._head_begun:
            self._head_bytes += len(data) if counted else 0
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refuse(_HEAD_TOO_LARGE)
            elif self._head_timer is None:
                # PERF: nearly every head comes in one piece, and then no timer is ever made.
                self._head_timer = self.loop.call_later(HEAD_SECONDS, self._head_late)

    def _decline_upgrade(self) -> None:
        """Go on as if the request had not asked for another protocol (RFC 9110, 7.8).

        APPSEC: for the parser the message ends here, and its body would be read as the next request. Another
        parser is told how the body is framed and gets what follows. Java's client asks for h2c at first.
        """
        framing = (b"content-length", b"transfer-encoding")
        lines = [b"%b: %b\r\n" % header for header in self.headers if header[0] in framing]
        view = _AfterHead(self)
        self.parser = httptools.HttpRequestParser(view)
        try:
            self.parser.feed_data(b"POST / HTTP/1.1\r\n" + b"".join(lines) + b"\r\n")
        except httptools.HttpParserError:
            # The first parser passed over a framing that is none. The application has not begun to run.
            self.cycle.more_body = True
            self._refuse(_MALFORMED)
            return
        view.live = True
        if not view.ended:
            self.cycle.more_body = True
            self.cycle.message_event.clear()

    # ------------------------------------------------------- parser's callbacks

    def on_message_begin(self) -> None:
        """Start a request: only now the connection is idle no more."""
        self._unset_keepalive_if_required()
        self._head_begun = True
        self._head_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Check the head as a whole and start the application."""
        self._head_begun = False
        self._stop_head_timer()
        size = len(self.url)
        for name, value in self.headers:
            size += len(name) + len(value) + 4
        if size > MAX_HEAD_BYTES:
            raise _HeadTooLarge
        if not self.url.startswith(b"/"):
            self._check_authority()
        super().on_headers_complete()
        if not self.cycle.keep_alive:
            self.cycle.transport = _LastAnswer(self)

    def _check_authority(self) -> None:
        """A target in absolute form must name the Host that the gate will look at (RFC 9112, 3.2.2)."""
        authority = self.url.partition(b"://")[2].split(b"/")[0].split(b"?")[0].lower()
        hosts = [value.strip(b" \t").lower() for name, value in self.headers if name == b"host"]
        if not authority or hosts != [authority]:
            raise _OtherAuthority

    def on_body(self, body: bytes) -> None:
        """Take a piece of a body; once the answer is out it is counted and dropped."""
        if self.cycle.response_complete:
            self._discarded += len(body)
            if self._discarded > LINGER_BYTES:
                self.transport.close()
            return
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request, and the connection when its last answer waited for that."""
        self._stop_body_timer()
        super().on_message_complete()
        if self.cycle.response_complete and not self.cycle.keep_alive:
            self.transport.close()

    # ------------------------------------------------------------------- ends

    def on_response_complete(self) -> None:
        """Go on with the connection; a body that is still on its way gets little time and room."""
        super().on_response_complete()
        if self.cycle.response_complete and self.cycle.more_body and not self.transport.is_closing():
            self._discarded = 0
            self._stop_body_timer()
            self._body_timer = self.loop.call_later(LINGER_SECONDS, self.transport.abort)

    def part(self) -> None:
        """Close the connection behind its last answer, at once or when the rest of the body has come.

        To close on unread bytes is to reset, and the client, a proxy mostly, would lose the answer.
        """
        if not (self.cycle.response_complete and self.cycle.more_body):
            self.transport.close()

    def timeout_keep_alive_handler(self) -> None:
        """End an idle connection, also one whose client never read its last answer."""
        self.transport.abort()

    def shutdown(self) -> None:
        """End the connection as soon as what runs is answered; a request half received does not run."""
        if not self._answered() and self.cycle.more_body:
            self.transport.close()
        else:
            super().shutdown()

    def _answered(self) -> bool:
        """Whether no request of this connection waits for its answer."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def _head_late(self) -> None:
        self._head_timer = None
        if self._head_begun:
            self._refuse(_HEAD_TOO_SLOW)
        else:
            self.transport.close()

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _stop_body_timer(self) -> None:
        if self._body_timer is not None:
            self._body_timer.cancel()
            self._body_timer = None

    def _body_stalled(self) -> None:
        self._body_timer = None
        if self.flow.read_paused:
            # It is we who do not read, such as an upload that waits for the disk.
            self._body_timer = self.loop.call_later(STALL_SECONDS, self._body_stalled)
            return
        self._give_body_up(_BODY_STALLED)
        self.transport.close()

    def _refuse(self, answer: Answer) -> None:
        """Answer without the application, and close; silently while an earlier answer is on its way."""
        self._stop_head_timer()
        self._head_begun = False
        if self._answered():
            self._write(answer)
        elif self.cycle.more_body:
            self._give_body_up(answer)
        self.transport.close()

    def _give_body_up(self, answer: Answer) -> None:
        """Answer a request whose body will never be whole, and tell the application that nobody waits."""
        cycle = self.cycle
        cycle.disconnected = True
        # An answer of ours must not be taken for that of an earlier request on this connection.
        if not cycle.response_started and not self.pipeline:
            self._write(answer)
        cycle.message_event.set()

    def _write(self, answer: Answer) -> None:
        request_id = uuid_text(uuid7(time.time_ns() // 1_000_000, 0, secrets.randbits(54)))
        headers = (*answer.headers, (REQUEST_ID_HEADER, request_id.encode("ascii")))
        head = b"".join(b"%b: %b\r\n" % header for header in headers)
        self.transport.write(STATUS_LINE[answer.status] + head + b"\r\n" + answer.body)
        log.info(
            "a request was refused on the wire", extra={"request_id": request_id, "status": answer.status}
        )


class _LastAnswer(asyncio.Transport):
    """The transport as it is seen by a request after which the client wants no other."""

    def __init__(self, wire: Wire) -> None:
        super().__init__()
        self._wire = wire

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._wire.transport.write(data)

    def is_closing(self) -> bool:
        return self._wire.transport.is_closing()

    def close(self) -> None:
        self._wire.part()


class _AfterHead:
    """What a second parser calls: nothing for the head that the first one read, then the connection."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.live = False
        self.ended = False
        """Whether the message ended with its head."""

    def on_message_begin(self) -> None:
        if self.live:
            self._wire.on_message_begin()

    def on_url(self, url: bytes) -> None:
        if self.live:
            self._wire.on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.live:
            self._wire.on_header(name, value)

    def on_headers_complete(self) -> None:
        if self.live:
            self._wire.on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._wire.on_body(body)

    def on_message_complete(self) -> None:
        if self.live:
            self._wire.on_message_complete()
        self.ended = True
