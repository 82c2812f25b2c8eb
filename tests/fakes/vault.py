"""The keepers of a database with their backups: real store, directory, worker and restore, a clock by hand.

What a door asks of the backup controller, this asks. It starts, stops and dies as a process does.
"""

import uuid
from pathlib import Path
from typing import Any, Final, TypeVar

import apsw

from actors.actor import Actor
from actors.address import Address
from actors.backups.journal import JOURNAL_NAME
from actors.board import Board
from actors.messages import Ping, Request
from actors.messages.backups import CreateBackup, RestoreBackup, Restored, VerifyBackup
from actors.messages.readers import ListAudit, ListBackups
from actors.messages.workloads import PauseWorkloads, ReleaseWorkloads
from actors.supervisor import Child
from remindi import config
from remindi.audit import AuditQuery
from remindi.backups import BackupRecord
from remindi.cli.core import Core as Keepers
from remindi.errors import Refusal
from remindi.events import ActorType, Caller
from tests.fakes.clocks import ManualClock
from tests.fakes.core import OWNER, TIMEOUT, TOKEN, Core
from tests.fakes.scripted import Scripted
from tests.fakes.timers import ManualTimer

R = TypeVar("R")
ADMIN: Final = Caller(ActorType.USER, "webui:admin", "exchange-of-an-admin")
PROJECT: Final = "work"


class Vault:
    """Writer, reader, probes and backup controller on one directory. A context manager that stops them."""

    def __init__(self, directory: Path, clock: ManualClock | None = None, *, automatic: bool = False) -> None:
        self.directory = directory
        self.backups_directory = directory / "backups"
        self.backups_directory.mkdir(parents=True, exist_ok=True)
        self.clock = ManualClock() if clock is None else clock
        self.timer = ManualTimer()
        self.board = Board()
        self.broken: list[str] = []
        self.deaths: list[str] = []
        loaded = config.load(
            {
                "REMINDI_DB_PATH": str(directory / "remindi.db"),
                "REMINDI_BACKUP_DIR": str(self.backups_directory),
                "REMINDI_OWNER_ID": OWNER,
                "REMINDI_MCP_TOKEN": TOKEN,
                "REMINDI_WEBUI_ENABLE": "false",
            }
        )
        assert isinstance(loaded, config.Loaded)
        self.feed_address = Address("feed")
        self.feed = Scripted("feed")
        self.keepers = Keepers(
            board=self.board,
            clock=self.clock,
            timer=self.timer,
            feed=self.feed_address,
            automatic=automatic,
        )
        self.keepers.configure(loaded.config)
        self.workloads = Scripted("workloads", {PauseWorkloads: lambda _: (), ReleaseWorkloads: lambda _: ()})
        self.core = Core(self.database, self.clock)
        self.core.writer, self.core.reader = self.keepers.writer, self.keepers.reader
        self._living: list[Actor] = []
        self._added = 0

    @property
    def database(self) -> Path:
        return self.directory / "remindi.db"

    def __enter__(self) -> "Vault":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start as a process does: recover, then every actor with an answered ping."""
        self.keepers.recover()
        self.keepers.start_worker(self.broken.append)
        keepers = self.keepers
        self._launch(self.feed_address, self.feed)
        for child in keepers.keepers((keepers.probes, keepers.backups), None):
            self.revive(child)
        self._launch(keepers.workloads, self.workloads)
        self.revive(keepers.backup_child())
        self.board.startup = "ready"
        keepers.show_generation()
        self.ask(Ping())

    def revive(self, child: Child, former: Actor | None = None) -> Actor:
        """Make an actor as the supervisor does."""
        actor = child.make(self.deaths.append, former)
        self._launch(child.address, actor)
        return actor

    def stop(self) -> None:
        """Stop all, the writer last."""
        self.keepers.stop_worker(TIMEOUT)
        for actor in reversed(self._living):
            actor.end()
            actor.thread.join(TIMEOUT)
            assert not actor.thread.is_alive(), f"{actor.name} is stuck"
        self._living.clear()

    def ask(self, message: Request[R]) -> R:
        """Ask the backup controller."""
        return self.keepers.backups.call(message, timeout=TIMEOUT)

    # ------------------------------------------------------------------ acts

    def add(self, text: str) -> None:
        """Add an item."""
        self._added += 1
        self.core.data(
            "remindi_add",
            project_id=PROJECT,
            message=text,
            idempotency_key=f"vault-{self._added:06}-{uuid.uuid4().hex}",
            trigger={"type": "next_session"},
        )

    def texts(self) -> set[str]:
        """What the items say."""
        items = self.core.data("remindi_list", project_id=PROJECT, limit=200)["items"]
        return {item["message"] for item in items}

    def create(self) -> BackupRecord:
        """Make a manual backup."""
        made = self.ask(CreateBackup(caller=ADMIN))
        assert isinstance(made, BackupRecord), made
        return made

    def verify(self, backup_id: bytes) -> BackupRecord | Refusal:
        return self.ask(VerifyBackup(caller=ADMIN, backup_id=backup_id))

    def restore(self, backup_id: bytes) -> Restored | Refusal:
        return self.ask(RestoreBackup(caller=ADMIN, backup_id=backup_id))

    def records(self) -> tuple[BackupRecord, ...]:
        return self.core.read(ListBackups())

    def audited(self, *kinds: str) -> list[tuple[str, str, str]]:
        """Type, outcome and details of the audit, of some types or of all."""
        query = AuditQuery(0, None, "asc", (), (), 200)
        rows = self.core.read(ListAudit(query=query))
        return [(row.type, row.outcome, row.details_json) for row in rows if not kinds or row.type in kinds]

    def files(self) -> list[str]:
        """What lies in the backup directory."""
        return sorted(path.name for path in self.backups_directory.iterdir())

    def assert_whole(self) -> None:
        """Nothing stray lies about, and the database is sound and takes writes."""
        assert not [name for name in self.files() if name.startswith(".tmp-")]
        assert JOURNAL_NAME not in self.files()
        connection = apsw.Connection(str(self.database), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            assert list(connection.execute("PRAGMA integrity_check")) == [("ok",)]
            assert list(connection.execute("PRAGMA foreign_key_check")) == []
        finally:
            connection.close(True)
        before = self.texts()
        self.add("still works")
        assert self.texts() == before | {"still works"}

    def _launch(self, address: Address, actor: Any) -> None:
        actor.launch()
        assert actor.settled.wait(TIMEOUT)
        assert actor.start_error is None, actor.start_error
        address.bind(actor.actor_ref)
        self._living.append(actor)
