"""Operations of the operator: a table from name to coroutine, behind the socket and in process alike."""

import asyncio
import errno
import io
import logging
import os
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from actors.address import ActorError, Overloaded, Unavailable
from actors.backups.files import BackupDirectory, DirectoryFailed
from actors.data_directory import FILE_MODE
from actors.messages.backups import CreateBackup, RestoreBackup, TakeUpload, VerifyBackup
from actors.messages.readers import ListBackups
from remindi import audit, views
from remindi.errors import NOT_FOUND, ErrorCode, Refusal, invalid
from remindi.events import ActorType, Caller
from remindi.identifiers import parse_uuid, uuid_text
from remindi.inputs.failures import Arguments, read
from remindi.views import Json
from web import adapters
from web.door import BACKUPS_SECONDS, READER_SECONDS, Door
from web.generations import Generation
from web.outcomes import closed, refusal_of

log = logging.getLogger("remindi.operator")

ACTOR_ID: Final = "operator:local"
"""Whoever may enter the data directory: its rights are the authentication."""

LIST_ADAPTERS: Final = "list_adapters"
GET_ADAPTER: Final = "get_adapter"
UPDATE_ADAPTER: Final = "update_adapter"
TRY_ALIAS: Final = "try_alias"
CREATE_BACKUP: Final = "create_backup"
LIST_BACKUPS: Final = "list_backups"
VERIFY_BACKUP: Final = "verify_backup"
RESTORE: Final = "restore"
RESTORE_FILE: Final = "restore_file"
LATEST_RESTORE: Final = "latest_restore"
STATUS: Final = "status"

_PIECE_BYTES: Final = 1_048_576


class _Nothing(Arguments):
    pass


class _Named(Arguments):
    adapter_name: str


class _Update(Arguments):
    adapter_name: str
    update: Any
    """Body of ``PATCH /adapters/{name}``."""


class _Alias(Arguments):
    adapter_name: str
    alias: str


class _OfBackup(Arguments):
    backup_id: str


class _File(Arguments):
    path: str
    """Absolute; the service reads it."""


class _Request(Arguments):
    operation: str
    arguments: dict[str, Any]


async def _list_adapters(door: Door, _: _Nothing, caller: Caller) -> Json:
    return {"adapters": [views.adapter_data(row) for row in await adapters.list_adapters(door, caller)]}


async def _get_adapter(door: Door, asked: _Named, caller: Caller) -> Json | Refusal:
    row = await adapters.get_adapter(door, asked.adapter_name, caller)
    return row if isinstance(row, Refusal) else {"adapter": views.adapter_data(row)}


async def _update_adapter(door: Door, asked: _Update, caller: Caller) -> Json | Refusal:
    row = await adapters.update_adapter(door, asked.adapter_name, asked.update, caller)
    return row if isinstance(row, Refusal) else {"adapter": views.adapter_data(row)}


async def _try_alias(door: Door, asked: _Alias, caller: Caller) -> Json | Refusal:
    tried = await adapters.try_alias(door, asked.adapter_name, asked.alias, caller)
    return tried if isinstance(tried, Refusal) else {"probe": views.probe_data(*tried)}


# ---------------------------------------------------------------- backups


async def _create_backup(door: Door, _: _Nothing, caller: Caller) -> Json | Refusal:
    record = await door.backups.acall(CreateBackup(caller=caller), timeout=BACKUPS_SECONDS)
    return record if isinstance(record, Refusal) else {"backup": views.backup_data(record)}


async def _list_backups(door: Door, _: _Nothing, caller: Caller) -> Json:
    records = await door.reader.acall(ListBackups(caller=caller), timeout=READER_SECONDS)
    return {"backups": [views.backup_data(record) for record in records]}


async def _verify_backup(door: Door, asked: _OfBackup, caller: Caller) -> Json | Refusal:
    backup_id = _id(asked.backup_id)
    if isinstance(backup_id, Refusal):
        return backup_id
    message = VerifyBackup(caller=caller, backup_id=backup_id)
    record = await door.backups.acall(message, timeout=BACKUPS_SECONDS)
    return record if isinstance(record, Refusal) else {"backup": views.backup_data(record)}


async def _restore(door: Door, asked: _OfBackup, caller: Caller) -> Json | Refusal:
    backup_id = _id(asked.backup_id)
    return backup_id if isinstance(backup_id, Refusal) else await _restore_by(door, backup_id, caller)


async def _restore_file(door: Door, asked: _File, caller: Caller) -> Json | Refusal:
    """Take a file in as an upload, from wherever it lies, and restore it."""
    if door.board.maintenance != "running":
        # Another restore runs, or its end is held: nothing is copied for nothing.
        held = door.board.maintenance == "held"
        return closed(door.board) if held else Refusal(ErrorCode.WORKLOAD_CONFLICT)
    directory = BackupDirectory(Path(door.config.backup_dir))
    temporary = directory.temporary()
    refused = await asyncio.to_thread(_copy, Path(asked.path), directory, temporary)
    if refused is not None:
        return refused
    try:
        record = await door.backups.acall(
            TakeUpload(caller=caller, temporary=temporary), timeout=BACKUPS_SECONDS
        )
    except (Overloaded, Unavailable):
        # It never came there, so the copy is still ours.
        await asyncio.to_thread(temporary.unlink, missing_ok=True)
        raise
    return record if isinstance(record, Refusal) else await _restore_by(door, record.id, caller)


async def _restore_by(door: Door, backup_id: bytes, caller: Caller) -> Json | Refusal:
    message = RestoreBackup(caller=caller, backup_id=backup_id)
    restored = await door.backups.acall(message, timeout=BACKUPS_SECONDS)
    if isinstance(restored, Refusal):
        return restored
    return {"restored": views.restored_data(*restored), **_latest(door)}


async def _latest_restore(door: Door, _: _Nothing, __: Caller) -> Json | Refusal:
    return NOT_FOUND if door.board.restore is None else _latest(door)


async def _status(door: Door, _: _Nothing, __: Caller) -> Json:
    board = door.board
    return {
        "startup": board.startup,
        **_latest(door),
        "backups": views.backups_state_data(board.backups),
        "workloads": [views.workload_data(*row) for row in board.workloads],
    }


def _latest(door: Door) -> Json:
    return views.restores_data(door.board.restore, door.board.maintenance)


def _id(text: str) -> bytes | Refusal:
    try:
        return parse_uuid(text)
    except ValueError:
        return invalid(("/arguments/backup_id", "format"))


def _copy(source: Path, directory: BackupDirectory, temporary: Path) -> Refusal | None:
    """Copy a file into the backup directory, private and durable; the refusal says why it cannot be."""
    if not source.is_absolute():
        return invalid(("/arguments/path", "format"))
    try:
        # A pipe has no end that it could be known by.
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
        with os.fdopen(os.open(source, flags), "rb", buffering=0) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                return Refusal(ErrorCode.BACKUP_INVALID, reason="The path names no file.")
            directory.require_space(found.st_size)
            _write(file, temporary)
    except DirectoryFailed as error:
        return Refusal(ErrorCode.INTERNAL_ERROR, reason=str(error))
    except OSError as error:
        temporary.unlink(missing_ok=True)
        return Refusal(ErrorCode.BACKUP_INVALID, reason=_unreadable(error))
    return None


def _write(file: io.RawIOBase, temporary: Path) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(temporary, flags, FILE_MODE), "wb", buffering=0) as copy:
        while piece := file.read(_PIECE_BYTES):
            rest = memoryview(piece)
            while rest:
                rest = rest[copy.write(rest) :]
        os.fsync(copy.fileno())


def _unreadable(error: OSError) -> str:
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return "The service finds no file at this path."
        case errno.EACCES | errno.EPERM:
            return "The service may not read the file; its user needs the right to."
        case errno.ENOSPC | errno.EDQUOT:
            return "The disk of the backup directory is full. Free some space."
        case code:
            words = os.strerror(code).lower() if code else "it failed"
            return f"The file could not be copied into the backup directory: {words}."


Use = Literal["nothing", "read", "change", "backup", "replace"]
"""What an operation does to the database; ``backup`` reads it, by the controller."""


class _Operation(NamedTuple):
    arguments: type[Arguments]
    run: Callable[[Door, Any, Caller], Awaitable[Json | Refusal]]
    use: Use


_OPERATIONS: Final = {
    LIST_ADAPTERS: _Operation(_Nothing, _list_adapters, "read"),
    GET_ADAPTER: _Operation(_Named, _get_adapter, "read"),
    UPDATE_ADAPTER: _Operation(_Update, _update_adapter, "change"),
    TRY_ALIAS: _Operation(_Alias, _try_alias, "read"),
    CREATE_BACKUP: _Operation(_Nothing, _create_backup, "backup"),
    LIST_BACKUPS: _Operation(_Nothing, _list_backups, "read"),
    VERIFY_BACKUP: _Operation(_OfBackup, _verify_backup, "backup"),
    RESTORE: _Operation(_OfBackup, _restore, "replace"),
    RESTORE_FILE: _Operation(_File, _restore_file, "replace"),
    LATEST_RESTORE: _Operation(_Nothing, _latest_restore, "nothing"),
    STATUS: _Operation(_Nothing, _status, "nothing"),
}


class Operations:
    """Carries out what an operator asks."""

    def __init__(self, door: Door) -> None:
        """Make them; they ask through the door's addresses."""
        self._door = door

    async def answer(self, request: object) -> Json:
        """Answer one request, a decoded JSON value, with an envelope of contract 1.1. It never raises."""
        caller = Caller(ActorType.USER, ACTOR_ID, uuid_text(self._door.ids.next()))
        name, outcome = await self._outcome(request, caller)
        refused = outcome.code.value if isinstance(outcome, Refusal) else None
        about = {"request_id": caller.request_id, "operation": name, **_about_adapter(request)}
        log.info("operator", extra=about | {"code": refused or "OK"})
        return self._envelope(caller, outcome)

    def refuse(self, refusal: Refusal) -> Json:
        """The envelope for a request that did not get as far as to be read."""
        caller = Caller(ActorType.USER, ACTOR_ID, uuid_text(self._door.ids.next()))
        return self._envelope(caller, refusal)

    def _envelope(self, caller: Caller, outcome: Json | Refusal) -> Json:
        assert caller.request_id is not None
        if isinstance(outcome, Refusal):
            return views.failure(caller.request_id, outcome, always_details=True)
        return views.success(caller.request_id, outcome)

    async def _outcome(self, request: object, caller: Caller) -> tuple[str | None, Json | Refusal]:
        """The name of the operation, if there is such a one, and what came of it."""
        asked = read(_Request, request if isinstance(request, dict) else {}, 0)
        if isinstance(asked, Refusal):
            return None, asked
        operation = _OPERATIONS.get(asked.operation)
        if operation is None:
            return None, Refusal(ErrorCode.NOT_FOUND)
        arguments = read(operation.arguments, asked.arguments, 0, at="/arguments")
        if isinstance(arguments, Refusal):
            return asked.operation, arguments
        generation = Generation(self._door.board)
        if self._closed(operation.use):
            return asked.operation, closed(self._door.board)
        try:
            outcome = await operation.run(self._door, arguments, caller)
            if operation.use == "read":
                generation.hold()
            return asked.operation, outcome
        except Exception as error:
            changes = operation.use in ("change", "backup", "replace")
            refusal = refusal_of(error, self._door.board, mutation=changes)
            about = {"request_id": caller.request_id, "operation": asked.operation}
            if refusal.code == ErrorCode.INTERNAL_ERROR and not isinstance(error, ActorError):
                log.exception("an operation failed", extra=about)
            else:
                log.warning("an operation got no answer: %s", type(error).__name__, extra=about)
            return asked.operation, refusal

    def _closed(self, use: Use) -> bool:
        board = self._door.board
        match use:
            case "nothing":
                return False
            case "replace":
                # A second restore is refused by the controller, as one.
                return board.maintenance == "held" or board.startup in ("starting", "stopping")
            case "change":
                # A damaged database is read and never written (contract section 16).
                return board.closed or board.startup == "damaged"
            case _:
                return board.closed


def _about_adapter(request: object) -> Json:
    """What a log line may say of the adapter that is asked for; names of aliases are nobody's business."""
    match request:
        case {"arguments": {"adapter_name": str(name)}}:
            return audit.about_adapter(name)
        case _:
            return {}
