"""The feed: what the writer and others tell after a commit, as messages for every open event stream.

It is an address like any other: whoever tells it something neither waits nor learns who listens. What
comes within a moment goes out together, encoded once for all streams; a stream that does not keep up is
told to look anew. Messages say what changed, not how it looks: readers ask for that by the API. Only what
gets on while somebody watches, a backup or a restore, is shown itself.
"""

import asyncio
import secrets
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Final

from actors.address import Address
from actors.board import Board
from actors.messages import Notice
from actors.messages.feed import (
    BackupsChanged,
    ContentReplaced,
    ItemChange,
    ItemsChanged,
    RestoreChanged,
    Upload,
    UploadsChanged,
    WorkloadsChanged,
)
from actors.messages.probes import AdaptersChanged
from actors.messages.scheduler import SettingsChanged
from remindi import views
from remindi.views import Json

GATHER_SECONDS: Final = 0.005
"""How long what happens after a quiet time is gathered before it goes out."""
SPACING_SECONDS: Final = 0.08
"""How far apart messages go out at least: a burst costs the writers little, and nobody hears late of it."""
MAX_ITEMS: Final = 500
"""Changed items that one message names; where more changed, it names none."""
KEPT: Final = 512
"""Messages that a reader who comes back may have missed."""
KEPT_SECONDS: Final = 60.0
"""How long after the last reader left messages are still kept."""
MAX_WAITING: Final = 64
"""Messages that wait for a slow reader; beyond them it is told to look anew."""
RETRY_MS: Final = 2_000
"""After how long a browser that lost its stream tries again."""
MAX_STREAMS: Final = 256
MAX_STREAMS_OF_A_SESSION: Final = 16

RESET: Final = "reset"
"""Some messages are lost: everything must be looked at anew."""
BYE: Final = "bye"
"""The session is over: no stream will be opened without a new sign-in."""

_NAMES: Final[dict[type[Notice], str]] = {
    SettingsChanged: "settings",
    AdaptersChanged: "adapters",
    WorkloadsChanged: "workloads",
    BackupsChanged: "backup",
    RestoreChanged: "restore",
    UploadsChanged: "upload",
    ContentReplaced: RESET,
}


class Stream:
    """What waits for one reader; of the loop that reads it."""

    def __init__(self, session: str | None) -> None:
        """Make an empty one for the reader of a session; null: authentication is off."""
        self.session = session
        self.changed = asyncio.Event()
        self.over: str | None = None
        """Why nothing more will come: the last message, or an empty text."""
        self._waiting: deque[bytes] = deque()

    def put(self, message: bytes) -> None:
        """Let a message wait."""
        if len(self._waiting) >= MAX_WAITING:
            self._waiting.clear()
            message = encoded(RESET, {})
        self._waiting.append(message)
        self.changed.set()

    def end(self, last: str) -> None:
        """Let nothing more come but the last message."""
        self.over = last
        self.changed.set()

    def take(self) -> bytes:
        """What waits, which then waits no more."""
        self.changed.clear()
        taken = b"".join(self._waiting)
        self._waiting.clear()
        return taken


class Feed(Address):
    """The address of whoever watches, and their streams. Told from any thread; the rest is the loop's."""

    __slots__ = (
        "_board",
        "_boot",
        "_flushes_at",
        "_kept",
        "_listens_until",
        "_lock",
        "_loop",
        "_number",
        "_streams",
        "_told",
    )

    def __init__(self) -> None:
        """Make a feed that nobody reads yet."""
        super().__init__("feed")
        self._boot = secrets.token_hex(4)
        self._number = 0
        self._kept: deque[tuple[int, bytes]] = deque(maxlen=KEPT)
        self._streams: set[Stream] = set()
        self._lock = threading.Lock()
        self._told: list[Notice] = []
        self._board = Board()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listens_until = 0.0
        self._flushes_at = 0.0

    def show(self, board: Board) -> None:
        """Show of backups and restores what this board says of them."""
        self._board = board

    # ------------------------------------------------------------ any thread

    @property
    def listens(self) -> bool:
        """Whether anybody reads, or may come back to what was said meanwhile."""
        return bool(self._streams) or time.monotonic() < self._listens_until

    def notify(self, notice: Notice) -> bool:
        """Take a notice to all who read; False when nobody does."""
        loop = self._loop
        if loop is None or not self.listens:
            return False
        with self._lock:
            self._told.append(notice)
            first = len(self._told) == 1
        if first:
            try:
                loop.call_soon_threadsafe(self._schedule, loop)
            except RuntimeError:
                return False
        return True

    def end_session(self, session: str | None) -> None:
        """End the streams of a session that is over."""
        if self._loop is not None and session is not None:
            # A loop that is closed has no streams any more.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._end, session)

    def is_full(self, session: str | None) -> bool:
        """Whether this session, or the process, has as many streams as it may."""
        streams = tuple(self._streams)
        mine = sum(stream.session == session for stream in streams)
        return len(streams) >= MAX_STREAMS or (session is not None and mine >= MAX_STREAMS_OF_A_SESSION)

    # -------------------------------------------------------------- the loop

    def subscribe(self, session: str | None, last: str | None) -> Stream:
        """Open a stream.

        Args:
            session: token of the reader's session, by which its end is known; null without authentication.
            last: id of the last message that the reader has seen, if it comes back.
        """
        if not self.listens:
            # What happened while nobody listened is told nobody.
            self._number += 1
            self._kept.clear()
        stream = Stream(session)
        missed = self._since(last)
        if missed is None or len(missed) >= MAX_WAITING:
            missed = [encoded(RESET, {})]
            last = None
        # Who is brought up to date is there when the last message has come, and not before.
        stream.put(encoded("hello", {}, None if last else self._id(self._number), retry=True))
        for message in missed:
            stream.put(message)
        self._streams.add(stream)
        return stream

    def leave(self, stream: Stream) -> None:
        """Forget a stream whose reader is gone."""
        self._streams.discard(stream)
        if not self._streams:
            self._listens_until = time.monotonic() + KEPT_SECONDS

    async def open(self) -> None:
        """Begin to take notices, on the loop of the streams (``web.server.Beside``)."""
        self._loop = asyncio.get_running_loop()

    async def close(self, _grace_seconds: float) -> None:
        """End every stream: the service stops (``web.server.Beside``)."""
        for stream in self._streams:
            stream.end("")

    def _end(self, session: str) -> None:
        for stream in self._streams:
            if stream.session == session:
                stream.end(BYE)

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        self._flushes_at = max(now + GATHER_SECONDS, self._flushes_at + SPACING_SECONDS)
        loop.call_at(self._flushes_at, self._flush)

    def _flush(self) -> None:
        """Make messages of what was told, and put each into every stream."""
        items: dict[bytes, ItemChange] = {}
        names: dict[str, None] = {}
        uploads: tuple[Upload, ...] = ()
        with self._lock:
            told, self._told = self._told, []
        for notice in told:
            if isinstance(notice, ItemsChanged):
                for change in notice.changes:
                    items[change.id] = change
                continue
            if isinstance(notice, ContentReplaced):
                # What was told of the former content is over.
                items.clear()
            elif isinstance(notice, UploadsChanged):
                uploads = notice.uploads
            names[_NAMES[type(notice)]] = None
        if RESET in names:
            del names[RESET]
            self._kept.clear()
            self._publish(RESET, {})
        if items:
            self._publish("items", _items(items))
        for name in names:
            self._publish(name, self._shown(name, uploads))

    def _shown(self, name: str, uploads: tuple[Upload, ...]) -> Json:
        match name:
            case "backup":
                return {"job": views.job_data(self._board.backups.job)}
            case "restore":
                return views.restores_data(self._board.restore, self._board.maintenance)
            case "upload":
                return {"uploads": [views.upload_data(*upload) for upload in uploads]}
            case _:
                return {}

    def _publish(self, event: str, data: Json) -> None:
        self._number += 1
        message = encoded(event, data, self._id(self._number))
        self._kept.append((self._number, message))
        for stream in self._streams:
            stream.put(message)

    def _id(self, number: int) -> str:
        return f"{self._boot}-{number}"

    def _since(self, last: str | None) -> list[bytes] | None:
        """The messages after one; None when some of them are gone."""
        if last is None:
            return []
        boot, _, text = last.partition("-")
        if boot != self._boot or not (text.isascii() and text.isdigit() and len(text) < 16):
            return None
        number = int(text)
        if number > self._number or self._number - number > len(self._kept):
            return None
        return [message for kept, message in self._kept if kept > number]


def encoded(event: str, data: Json, message_id: str | None = None, *, retry: bool = False) -> bytes:
    """One message of an event stream (WHATWG HTML, 9.2)."""
    lines = [f"event: {event}"]
    if message_id is not None:
        lines.append(f"id: {message_id}")
    if retry:
        lines.append(f"retry: {RETRY_MS}")
    return "\n".join(lines).encode() + b"\ndata: " + views.to_json(data) + b"\n\n"


def _items(items: dict[bytes, ItemChange]) -> Json:
    if len(items) > MAX_ITEMS:
        return {"items": None}
    return {"items": [views.change_view(*change) for change in items.values()]}
