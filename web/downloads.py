"""Downloads: a verified backup, streamed from its file as fast as its reader takes it (contract 14.3).

The file is opened once and read by its descriptor, so retention may remove it meanwhile. On the loop a thread
reads each piece; the administration listener sends files by itself.
"""

import asyncio
import io
import os
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus
from typing import Final

from actors.address import ActorError
from actors.messages.backups import BackupFile, OpenBackup
from remindi.backups import BackupRecord, file_name
from remindi.errors import NOT_FOUND, ErrorCode, Refusal
from remindi.events import Caller
from remindi.identifiers import uuid_text
from web.answers import Header
from web.api.answering import SECURITY_HEADERS, Refused, refused_answer
from web.body import Disconnected, Receive
from web.door import BACKUPS_SECONDS, Door
from web.exchange import Exchange
from web.outcomes import refusal_of
from web.request_ids import REQUEST_ID_HEADER

AT_ONCE: Final = 8
RETRY_SECONDS: Final = 10
PIECE_BYTES: Final = 262_144
READERS: Final = 2
"""Threads that read files."""
MEDIA_TYPE: Final = "application/vnd.sqlite3"
_OTHER_SIZE: Final = "The file has another size than its record."


def headers_of(record: BackupRecord) -> tuple[Header, ...]:
    """What is said of a backup that follows; ranges are not served."""
    name = file_name(uuid_text(record.id))
    digest = b64encode(bytes.fromhex(record.sha256))
    return (
        (b"content-type", MEDIA_TYPE.encode()),
        (b"content-disposition", f'attachment; filename="{name}"'.encode()),
        (b"content-length", b"%d" % record.size_bytes),
        (b"repr-digest", b"sha-256=:" + digest + b":"),
        (b"accept-ranges", b"none"),
    )


def opened(file: BackupFile) -> int | Refusal:
    """A descriptor of the file of a backup that has just been verified."""
    try:
        descriptor = os.open(file.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        # Retention has just had it.
        return NOT_FOUND
    if os.fstat(descriptor).st_size != file.record.size_bytes:
        os.close(descriptor)
        return Refusal(ErrorCode.BACKUP_INVALID, reason=_OTHER_SIZE)
    return descriptor


class Downloads:
    """Sends backups; of the loop."""

    def __init__(self, door: Door) -> None:
        """Make a way out that nobody uses yet."""
        self._door = door
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="download")
        self._running = 0

    async def serve(self, exchange: Exchange, caller: Caller, backup_id: bytes) -> None:
        """Send one backup, once it has passed every check again.

        Raises:
            Disconnected: the reader left before its end.
        """
        if self._running >= AT_ONCE:
            crowded = Refused(Refusal(ErrorCode.LIMIT_EXCEEDED), status=429, retry_after=RETRY_SECONDS)
            await exchange.answer(refused_answer(exchange, crowded))
            return
        self._running += 1
        try:
            file = await self._verified(caller, backup_id)
            descriptor = file if isinstance(file, Refusal) else opened(file)
            if isinstance(file, Refusal) or isinstance(descriptor, Refusal):
                refusal = file if isinstance(file, Refusal) else descriptor
                assert isinstance(refusal, Refusal)
                await exchange.answer(refused_answer(exchange, Refused(refusal)))
                return
            await self._send(exchange, file.record, io.FileIO(descriptor))
        finally:
            self._running -= 1

    async def _verified(self, caller: Caller, backup_id: bytes) -> BackupFile | Refusal:
        message = OpenBackup(caller=caller, backup_id=backup_id)
        try:
            return await self._door.backups.acall(message, timeout=BACKUPS_SECONDS)
        except ActorError as error:
            return refusal_of(error, self._door.board, mutation=False)

    async def _send(self, exchange: Exchange, record: BackupRecord, file: io.FileIO) -> None:
        gone = asyncio.create_task(_gone(exchange.receive))
        reading: asyncio.Future[bytes] | None = None
        loop = asyncio.get_running_loop()
        try:
            exchange.status = HTTPStatus.OK
            own = (REQUEST_ID_HEADER, exchange.request_id.encode("ascii"))
            headers = [*headers_of(record), *SECURITY_HEADERS, own]
            await exchange.send({"type": "http.response.start", "status": 200, "headers": headers})
            left = 0 if exchange.method == "HEAD" else record.size_bytes
            while left > 0:
                reading = loop.run_in_executor(self._threads, file.read, min(left, PIECE_BYTES))
                piece = await reading
                if gone.done() or not piece:
                    # A file that has become shorter cannot be told of any more: the connection ends early.
                    raise Disconnected
                left -= len(piece)
                # Who does not read loses the connection (`web.wire`).
                await exchange.send({"type": "http.response.body", "body": piece, "more_body": True})
            await exchange.send({"type": "http.response.body", "body": b""})
        finally:
            gone.cancel()
            if reading is not None and not reading.done():
                # NOTE: a thread may still read by the number; closed now, it could be another file's.
                with suppress(asyncio.CancelledError):
                    await asyncio.shield(reading)
            file.close()


async def _gone(receive: Receive) -> None:
    """Wait for the reader to leave."""
    while (await receive())["type"] != "http.disconnect":
        continue
