"""Uploads: a backup that comes in over the loop and goes to disk in threads, as it comes (contract 14.2).

Only so many come in at a time; the others are told so before anything of theirs is read. Whatever ends one
before the controller has it, nothing of it is left.
"""

import asyncio
import logging
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final, TypeVar

from actors.address import ActorError, Overloaded, Unavailable
from actors.backups.files import BackupDirectory, DirectoryFailed, told
from actors.data_directory import FILE_MODE
from actors.failures import DatabaseRefused, unrefused
from actors.messages.backups import TakeUpload
from actors.messages.feed import Upload, UploadsChanged
from actors.messages.writer import RecordAudit
from remindi import audit, views
from remindi.backups import BackupRecord, Source
from remindi.errors import ErrorCode, Refusal
from remindi.events import Caller
from web.api.answering import Refused, refused_answer, success_answer
from web.body import Disconnected
from web.door import BACKUPS_SECONDS, WRITER_SECONDS, Door
from web.exchange import Exchange
from web.multipart import MAX_FRAME_BYTES, Frame, NotAnUpload
from web.outcomes import refusal_of

T = TypeVar("T")

log = logging.getLogger("remindi.api")

AT_ONCE: Final = 2
RETRY_SECONDS: Final = 10
PIECE_BYTES: Final = 262_144
"""How much is gathered before a thread writes it."""
PROGRESS_SECONDS: Final = 30.0
PROGRESS_BYTES: Final = 65_536
"""So much must come within that time, or all that is left: whoever sends less holds the place of others."""
SETTING: Final = "backups.upload_max_bytes"

_TOO_SLOW: Final = "The upload came too slowly."
_CUT_SHORT: Final = "The upload ended before its declared length."


class TooLarge(Exception):
    """The file is larger than an upload may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Announced:
    """What the head of an upload says, and what it may be."""

    caller: Caller
    boundary: bytes
    length: int
    """Of the body, as declared."""
    limit: int
    """Of the file, in bytes."""


def too_large(limit: int) -> Refusal:
    """The refusal of an upload over its limit, which it names."""
    return Refusal(ErrorCode.LIMIT_EXCEEDED, reason=f"An upload may have {limit} bytes; {SETTING} says so.")


class Uploads:
    """Takes uploads in; of the loop."""

    def __init__(self, door: Door) -> None:
        """Make a way in that nobody uses yet."""
        self._door = door
        self._directory = BackupDirectory(Path(door.config.backup_dir))
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="upload")
        self._running: dict[int, Upload] = {}
        self._number = 0

    async def serve(self, exchange: Exchange, announced: Announced) -> None:
        """Take one upload in and answer it.

        Raises:
            Disconnected: the client left before all had come.
        """
        if len(self._running) >= AT_ONCE:
            crowded = Refused(Refusal(ErrorCode.LIMIT_EXCEEDED), status=429, retry_after=RETRY_SECONDS)
            await exchange.answer(refused_answer(exchange, crowded))
            return
        self._number += 1
        number = self._number
        self._show(number, Upload(exchange.request_id, 0, announced.length))
        try:
            received = await self._received(exchange, announced, number)
        finally:
            self._show(number, None)
        outcome = (
            received if isinstance(received, Refusal) else await self._hand_over(announced.caller, received)
        )
        if isinstance(outcome, Refusal):
            await exchange.answer(refused_answer(exchange, Refused(outcome)))
        else:
            data = views.backup_data(outcome)
            await exchange.answer(success_answer(exchange, data, HTTPStatus.CREATED))

    async def _received(self, exchange: Exchange, announced: Announced, number: int) -> Path | Refusal:
        """The file as it was received whole, or why there is none."""
        sink = _Sink(self._directory, announced)
        received = False
        refusal: Refusal
        try:
            await self._in_thread(sink.open)
            await self._stream(exchange, announced, sink, number)
            path = await self._in_thread(sink.finish)
            received = True
            return path
        except NotAnUpload as error:
            refusal = Refusal(ErrorCode.BACKUP_INVALID, reason=str(error))
        except TooLarge:
            refusal = too_large(announced.limit)
        except DirectoryFailed as error:
            log.error("an upload failed: %s", error, extra={"request_id": exchange.request_id})
            await self._record(announced.caller, audit.FAILED, {})
            return Refusal(ErrorCode.INTERNAL_ERROR, reason=str(error))
        except Disconnected:
            await self._refused(announced.caller, ErrorCode.BACKUP_INVALID)
            raise
        finally:
            if not received:
                # Also when this task is cancelled: a thread may still write.
                self._threads.submit(sink.abandon)
        await self._refused(announced.caller, refusal.code)
        return refusal

    async def _stream(self, exchange: Exchange, announced: Announced, sink: "_Sink", number: int) -> None:
        loop = asyncio.get_running_loop()
        waiting, written, more = bytearray(), 0, True
        until, wanted = loop.time() + PROGRESS_SECONDS, PROGRESS_BYTES
        while more:
            try:
                async with asyncio.timeout_at(until):
                    message = await exchange.receive()
            except TimeoutError:
                raise NotAnUpload(_TOO_SLOW) from None
            if message["type"] == "http.disconnect":
                raise Disconnected
            waiting += message.get("body", b"")
            more = message.get("more_body", False)
            if written + len(waiting) >= wanted:
                until, wanted = loop.time() + PROGRESS_SECONDS, written + len(waiting) + PROGRESS_BYTES
            if len(waiting) >= PIECE_BYTES or not more:
                piece, waiting = bytes(waiting), bytearray()
                before = loop.time()
                await self._in_thread(lambda piece=piece: sink.feed(piece))  # type: ignore[misc]
                # A slow disk is no fault of the sender.
                until += loop.time() - before
                written += len(piece)
                self._show(number, Upload(exchange.request_id, written, announced.length))
        if written != announced.length:
            raise NotAnUpload(_CUT_SHORT)

    async def _hand_over(self, caller: Caller, path: Path) -> BackupRecord | Refusal:
        message = TakeUpload(caller=caller, temporary=path)
        try:
            return await self._door.backups.acall(message, timeout=BACKUPS_SECONDS)
        except (Overloaded, Unavailable) as error:
            # It never came there, so the file is still ours.
            self._threads.submit(path.unlink, missing_ok=True)
            return refusal_of(error, self._door.board, mutation=True)
        except ActorError as error:
            return refusal_of(error, self._door.board, mutation=True)

    def _show(self, number: int, upload: Upload | None) -> None:
        if upload is None:
            self._running.pop(number, None)
        else:
            self._running[number] = upload
        if self._door.feed.listens:
            self._door.feed.notify(UploadsChanged(uploads=tuple(self._running.values())))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def _refused(self, caller: Caller, code: ErrorCode) -> None:
        await self._record(caller, audit.REJECTED, {"failure_code": code.value})

    async def _record(self, caller: Caller, outcome: str, more: dict[str, str]) -> None:
        """Store the audit row of an upload that the controller never hears of (contract 13.2)."""
        details = audit.about_backup(None, Source.UPLOAD) | more
        message = RecordAudit(
            caller=caller,
            event_type=audit.BACKUP_UPLOADED,
            outcome=outcome,
            details=tuple(details.items()),
        )
        try:
            unrefused(await self._door.writer.acall(message, timeout=WRITER_SECONDS))
        except (ActorError, DatabaseRefused):
            log.warning("an audit row was not stored", extra={"event_type": audit.BACKUP_UPLOADED})


class _Sink:
    """The temporary file that an upload becomes; used by threads, one at a time."""

    def __init__(self, directory: BackupDirectory, announced: Announced) -> None:
        self._directory = directory
        self._path = directory.temporary()
        self._length = announced.length
        self._limit = announced.limit
        self._frame = Frame(announced.boundary, self._write)
        self._lock = threading.Lock()
        self._descriptor: int | None = None
        self._size = 0
        self._over = False

    def open(self) -> None:
        """Make the file, if there is room for it.

        Raises:
            DirectoryFailed: there is none, or it cannot be made.
        """
        self._directory.require_space(self._length)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with told(), self._lock:
            if not self._over:
                self._descriptor = os.open(self._path, flags, FILE_MODE)

    def feed(self, piece: bytes) -> None:
        """Take a piece of the body.

        Raises:
            NotAnUpload, TooLarge, DirectoryFailed: it ends here.
        """
        with told(), self._lock:
            self._frame.feed(piece)

    def finish(self) -> Path:
        """Take the end of the body; the file is durable then.

        Raises:
            NotAnUpload, TooLarge, DirectoryFailed: there is no file.
        """
        with told(), self._lock:
            self._frame.finish()
            assert self._descriptor is not None
            os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None
        return self._path

    def abandon(self) -> None:
        """Leave nothing behind."""
        with self._lock:
            self._over = True
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None
            with suppress(OSError):
                self._path.unlink(missing_ok=True)

    def _write(self, piece: memoryview) -> None:
        self._size += len(piece)
        if self._size > self._limit:
            raise TooLarge
        assert self._descriptor is not None
        while piece:
            piece = piece[os.write(self._descriptor, piece) :]


def longest_body(limit: int) -> int:
    """How long a body may be whose file is within a limit."""
    return limit + MAX_FRAME_BYTES
