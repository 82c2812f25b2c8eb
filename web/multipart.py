"""Multipart: the one file of an upload, taken out of its frame piece by piece (RFC 7578, contract 14.2).

The frame must be exactly one part: nothing before it, nothing behind it, no second one. What is refused is
refused in one sentence for the person who sent it.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

MAX_HEADERS: Final = 8
MAX_HEADER_BYTES: Final = 1_024
MAX_FRAME_BYTES: Final = MAX_HEADERS * (MAX_HEADER_BYTES + 2) + 256
"""What the frame may be longer than its file."""
PART: Final = b"file"
MEDIA_TYPES: Final = (
    b"application/vnd.sqlite3",
    b"application/x-sqlite3",
    b"application/octet-stream",
)
_BOUNDARY: Final = re.compile(rb"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]")
_AS_IT_IS: Final = (b"binary", b"8bit")

_NO_FRAME: Final = "The upload is no well-formed multipart/form-data."
_ONE_PART: Final = "The upload must hold exactly one part, named file, and nothing before or behind it."
_NAME: Final = "The first part of the upload must be named file."
_TYPE: Final = (
    "The part must have the media type application/vnd.sqlite3, application/x-sqlite3 or"
    " application/octet-stream."
)
_CUT_SHORT: Final = "The upload ended before its file did."


class NotAnUpload(Exception):
    """The frame is not as it must be; the text says what is wrong with it."""


def boundary_of(content_type: str) -> bytes:
    """The boundary that a Content-Type names.

    Raises:
        NotAnUpload: it names none, or none that may be one (RFC 2046, 5.1.1).
    """
    _, options = parse_options_header(content_type)
    boundary = options.get(b"boundary", b"")
    if _BOUNDARY.fullmatch(boundary) is None:
        raise NotAnUpload(_NO_FRAME)
    return boundary


class Frame:
    """Reads a body as it comes, and hands on what is of the file. Of one thread at a time."""

    def __init__(self, boundary: bytes, take: Callable[[memoryview], None]) -> None:
        """Make a frame that nothing has come of yet.

        Args:
            boundary: of the frame.
            take: gets each piece of the file.
        """
        self._first = b"--" + boundary + b"\r\n"
        self._last = b"\r\n--" + boundary + b"--"
        self._take = take
        self._held = b""
        self._begun = False
        self._ended = False
        self._parts = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._name, self._value = bytearray(), bytearray()
        callbacks: MultipartCallbacks = {
            "on_part_begin": self._begin,
            "on_header_field": lambda data, start, end: self._name.extend(data[start:end]),
            "on_header_value": lambda data, start, end: self._value.extend(data[start:end]),
            "on_header_end": self._end_header,
            "on_headers_finished": self._judge,
            "on_part_data": lambda data, start, end: self._take(memoryview(data)[start:end]),
            "on_end": self._end,
        }
        self._parser = MultipartParser(
            boundary, callbacks, max_header_count=MAX_HEADERS, max_header_size=MAX_HEADER_BYTES
        )

    def feed(self, piece: bytes) -> None:
        """Take a piece of the body.

        Raises:
            NotAnUpload: the frame is wrong.
        """
        # The end is held back: where the frame is closed before it, something stands behind the file.
        whole = self._held + piece
        kept = len(self._last) + 2
        if len(whole) <= kept:
            self._held = whole
            return
        self._held = whole[-kept:]
        self._parse(whole[:-kept])
        if self._ended:
            raise NotAnUpload(_ONE_PART)

    def finish(self) -> None:
        """Take the end of the body.

        Raises:
            NotAnUpload: the frame is wrong, or not closed.
        """
        self._parse(self._held)
        if not self._ended or self._parts != 1:
            raise NotAnUpload(_CUT_SHORT)
        if not self._held.removesuffix(b"\r\n").endswith(self._last):
            raise NotAnUpload(_ONE_PART)

    def _parse(self, data: bytes) -> None:
        if not self._begun:
            # NOTE: the parser would pass over what stands before the first part.
            if not (data + self._held).startswith(self._first):
                raise NotAnUpload(_NO_FRAME)
            self._begun = True
        try:
            self._parser.write(data)
        except FormParserError:
            raise NotAnUpload(_NO_FRAME) from None

    def _begin(self) -> None:
        self._parts += 1
        if self._parts > 1:
            raise NotAnUpload(_ONE_PART)

    def _end_header(self) -> None:
        self._headers.append((bytes(self._name).lower(), bytes(self._value).strip(b" \t")))
        self._name.clear()
        self._value.clear()

    def _judge(self) -> None:
        """Look at the part's headers: each that says something counts once."""
        said = dict(self._headers)
        if len(said) != len(self._headers):
            raise NotAnUpload(_NO_FRAME)
        disposition, options = parse_options_header(said.get(b"content-disposition"))
        if disposition != b"form-data" or options.get(b"name") != PART:
            raise NotAnUpload(_NAME)
        media_type, _ = parse_options_header(said.get(b"content-type"))
        encoding = said.get(b"content-transfer-encoding", _AS_IT_IS[0]).lower()
        if media_type not in MEDIA_TYPES or encoding not in _AS_IT_IS:
            raise NotAnUpload(_TYPE)

    def _end(self) -> None:
        self._ended = True
