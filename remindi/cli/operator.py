"""Reaching the service as its operator: through its socket while it runs, in this process while it does not.

Both ways lead to ``web.operator.operations``, and never two processes to one database.
"""

import json
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from actors import data_directory
from actors.data_directory import DirectoryInUse, DirectoryUnusable
from remindi import views
from remindi.cli import environment, exits
from remindi.cli.envfile import EnvFileError
from remindi.cli.exits import Refused, cause
from remindi.cli.service_arguments import DEFAULT_STATE, ENV_FILE_NAME
from remindi.config import Config, Rejected
from web.operator.socket import SOCKET_NAME, connect

Json = dict[str, Any]
Ask = Callable[[str, Json], Json]
"""Asks one operation by name with its arguments; answers the envelope of contract 1.1."""

ANSWER_SECONDS: Final = 150.0
"""For an answer: longer than the longest probe that first waits its turn."""
_BRIEF_SECONDS: Final = 10.0
"""For an answer from memory."""
_PATIENCE_SECONDS: Final = 10.0
"""How long to look for whoever has the directory: a command ends soon, and a start soon listens."""
_GLANCE_SECONDS: Final = 0.1
_MAX_ANSWER_BYTES: Final = 67_108_864


def asked_briefly(directory: Path, operation: str) -> Json | None:
    """What a running service says from memory, if one listens in a data directory.

    Raises:
        Refused: it may not be asked, or does not answer.
    """
    return _over_socket(directory, _BRIEF_SECONDS)(operation, {}) if _listens(directory) else None


@contextmanager
def reached(env_file: Path | None, patience_seconds: float = ANSWER_SECONDS) -> Iterator[Ask]:
    """The service that this environment configures, running or not.

    Args:
        env_file: as of ``serve``; null: the process environment, and the file of ``make serve`` when that
            names no database.
        patience_seconds: for an answer of a running one.

    Raises:
        Refused: it cannot be reached; the line says why.
    """
    config = configuration(env_file)
    database = Path(config.db_path)
    require_database(database)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        if _listens(database.parent):
            yield _over_socket(database.parent, patience_seconds)
            return
        try:
            lock = lock_stopped(database)
        except DirectoryInUse:
            if time.monotonic() >= deadline:
                raise Refused(
                    exits.RUNNING,
                    f"A Remindi process uses {database.parent} (REMINDI_DB_PATH) but does not listen on"
                    f" {SOCKET_NAME} there. If it is starting, try again; else stop it first.",
                ) from None
            time.sleep(_GLANCE_SECONDS)
            continue
        _prepare(database.parent, Path(config.backup_dir), lock)
        # What the log of a service would say is for nobody here.
        logging.getLogger("remindi").addHandler(logging.NullHandler())
        # Only a stopped service costs the time of loading one.
        from remindi.cli import offline

        with offline.opened(config, lock) as ask:
            yield ask
        return


def require_database(database: Path) -> None:
    """Make no new database: an operator who looks at one that is not there has named the wrong place.

    Raises:
        Refused: it is not there, or cannot be seen.
    """
    try:
        if database.is_file():
            return
    except OSError as error:
        raise Refused(
            exits.DATA_DIRECTORY,
            f"{database} (REMINDI_DB_PATH) cannot be used: {cause(error)}",
        ) from None
    raise Refused(
        exits.DATA_DIRECTORY,
        f"There is no database at {database} (REMINDI_DB_PATH). `remindi serve` makes one at its first"
        " start; if it runs with an env file, name that with --env-file.",
    )


def configuration(env_file: Path | None) -> Config:
    """What leads to the data of the service that an environment configures.

    Args:
        env_file: as of ``reached``.

    Raises:
        Refused: the environment breaks a rule.
    """
    if env_file is None:
        env_file = _file_of_make_serve()
    try:
        loaded = environment.load_for_operator(env_file)
    except EnvFileError as error:
        raise Refused(exits.CONFIGURATION, str(error)) from None
    if isinstance(loaded, Rejected):
        lines = [str(fault) for fault in loaded.faults]
        if env_file is None:
            lines.insert(0, "Name the env file of the service with --env-file.")
        raise Refused(exits.CONFIGURATION, "\n".join(lines))
    return loaded.config


def _file_of_make_serve() -> Path | None:
    if "REMINDI_DB_PATH" in os.environ:
        return None
    file = DEFAULT_STATE / ENV_FILE_NAME
    try:
        return file if file.is_file() else None
    except PermissionError:
        # Whoever reads it is told.
        return file


def lock_stopped(database: Path) -> data_directory.DirectoryLock:
    """Take the directory of a stopped service, as a start does.

    Raises:
        DirectoryInUse: somebody else has it.
        Refused: it cannot be used.
    """
    try:
        _require_own(database.parent)
        data_directory.prepare(database.parent, "REMINDI_DB_PATH")
        data_directory.secure_database(database)
        return data_directory.lock(database.parent)
    except DirectoryUnusable as error:
        raise Refused(exits.DATA_DIRECTORY, str(error)) from None


def _prepare(data: Path, backups: Path, lock: data_directory.DirectoryLock) -> None:
    """Make both directories fit for use, as a start does.

    Raises:
        Refused: it cannot be used; the lock is released.
    """
    try:
        data_directory.prepare(backups, "REMINDI_BACKUP_DIR")
        data_directory.remove_leftovers(backups)
        data_directory.remove_leftovers(data)
    except DirectoryUnusable as error:
        lock.release()
        raise Refused(exits.DATA_DIRECTORY, str(error)) from None


def _require_own(directory: Path) -> None:
    """Leave a directory to its user, also as root: what root made in there its user could not open.

    Raises:
        Refused: it is somebody else's.
    """
    uid = directory.stat().st_uid
    if uid != os.geteuid():
        raise Refused(
            exits.DATA_DIRECTORY,
            f"{directory} (REMINDI_DB_PATH) belongs to uid {uid}: run this as uid {uid}.",
        )


def _listens(directory: Path) -> bool:
    """Whether a service answers there.

    Raises:
        Refused: there is one, and it is somebody else's.
    """
    try:
        connect(directory, ANSWER_SECONDS).close()
    except (FileNotFoundError, ConnectionRefusedError):
        return False
    except OSError as error:
        raise Refused(
            exits.DATA_DIRECTORY,
            f"{directory / SOCKET_NAME} (REMINDI_DB_PATH) cannot be used: {cause(error)}",
        ) from None
    return True


def _over_socket(directory: Path, patience_seconds: float) -> Ask:
    def ask(operation: str, arguments: Json) -> Json:
        line = views.to_json({"operation": operation, "arguments": arguments}) + b"\n"
        try:
            with connect(directory, patience_seconds) as connection:
                answer = _exchanged(connection, line)
        except TimeoutError:
            raise Refused(exits.FAILED, "The service did not answer in time; its log may say why.") from None
        except OSError:
            answer = b""
        if not answer.endswith(b"\n"):
            raise Refused(exits.FAILED, "The service ended before it answered; look at it, then try again.")
        envelope: Json = json.loads(answer)
        return envelope

    return ask


def _exchanged(connection: socket.socket, line: bytes) -> bytes:
    # A service that refuses at once has answered and gone before all was sent.
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(line)
    with connection.makefile("rb") as incoming:
        return incoming.readline(_MAX_ANSWER_BYTES)
