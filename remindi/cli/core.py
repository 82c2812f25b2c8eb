"""The core: what a running service and a command on a stopped one have in common, so that both do the same.

Writer, reader, probes and backups on one database, and how each of them is made.
"""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Final

from actors.actor import Actor
from actors.address import Address
from actors.backups.candidates import Candidates
from actors.backups.controller import BackupController
from actors.backups.files import BackupDirectory
from actors.backups.journal import read_latest
from actors.backups.meter import Meter
from actors.backups.recovery import RecoveryFailed, recover
from actors.backups.restore import World
from actors.backups.worker import Worker
from actors.board import Board
from actors.messages.control import Control
from actors.messages.feed import ContentReplaced
from actors.messages.readers import GetControl, GetOrigin
from actors.probes.looking import Outside
from actors.probes.pool import Pool
from actors.readers import Reader
from actors.supervisor import Child
from actors.system import Clock, Identifiers, system_random
from actors.timer import Timer
from actors.writer import Writer
from remindi.backups import RestoreState
from remindi.cli import exits
from remindi.cli.exits import Refused
from remindi.config import Config

OnDeath = Callable[[str], None]

WRITER_START_SECONDS: Final = 600.0
"""For opening, checking and migrating a large database."""
CONTROL_SECONDS: Final = 10.0
LEFT_SECONDS: Final = 1.0
"""How long a job that is given up may take to notice it."""


class Core:
    """The addresses of one process, and the makers of the actors that keep its database."""

    def __init__(self, *, board: Board, clock: Clock, timer: Timer, feed: Address, automatic: bool) -> None:
        """Make a core without a configuration yet.

        Args:
            board: of the process.
            clock: both clocks.
            timer: of the process.
            feed: told what changes; one that nobody lives behind hears nothing.
            automatic: whether backups are made without being asked for.
        """
        self.board = board
        self.clock = clock
        self.timer = timer
        self.feed = feed
        self.writer = Address("writer")
        self.reader = Address("reader")
        self.probes = Address("probes")
        self.workloads = Address("workloads")
        self.backups = Address("backups")
        self._automatic = automatic
        self._config: Config | None = None
        self._meter = Meter(board, feed)
        self._worker: Worker | None = None
        self._broken: Callable[[str], None] | None = None
        self._recovered: RestoreState | None = None

    @property
    def database(self) -> Path:
        """The database file."""
        return Path(self.config.db_path)

    @property
    def config(self) -> Config:
        """The configuration, once it is known."""
        assert self._config is not None
        return self._config

    def configure(self, config: Config) -> None:
        """Take the configuration; before anything is started."""
        self._config = config

    def recover(self) -> None:
        """End a restore that a former process began (contract 17.1 step 5); before any actor starts.

        Raises:
            Refused: it cannot be ended; the database is as it was.
        """
        directory = BackupDirectory(Path(self.config.backup_dir))
        try:
            ended = recover(directory, self.database, self.config.owner_id, self.clock)
        except RecoveryFailed as error:
            raise Refused(exits.DATABASE, str(error)) from None
        self._recovered = ended or self._recovered
        self.board.restore = read_latest(directory)

    def start_worker(self, broken: Callable[[str], None]) -> None:
        """Set the worker going; ``broken`` is told when a restore broke."""
        self._broken = broken
        self._meter = Meter(self.board, self.feed)
        self._worker = Worker(self._meter, broken)
        self._worker.start()

    def stop_worker(self, timeout: float) -> None:
        """Give up what the worker is at."""
        if self._worker is not None:
            self._worker.stop(timeout)

    def keepers(self, subscribers: tuple[Address, ...], feed: Address | None) -> tuple[Child, ...]:
        """Writer, reader and probes, in starting order; the writer starts first and stops last.

        Args:
            subscribers: told of settings and adapters.
            feed: told of items.
        """
        lives = itertools.count()

        def make_writer(on_death: OnDeath, _former: Actor | None) -> Actor:
            if next(lives):
                self._begin_anew()
            return Writer(
                "writer",
                on_death,
                store_path=self.database,
                owner=self.config.owner_id,
                clock=self.clock,
                chance=system_random(),
                subscribers=subscribers,
                feed=feed,
                log_content=self.config.log_content,
                progress=self._meter,
            )

        return (
            Child(
                address=self.writer,
                make=make_writer,
                start_seconds=WRITER_START_SECONDS,
                stop_seconds=3.0,
                restart_all=True,
            ),
            Child(address=self.reader, make=self._make_reader, stop_seconds=1.0),
            Child(address=self.probes, make=self._make_pool, stop_seconds=1.0),
        )

    def backup_child(self) -> Child:
        """The backup controller; it starts after all whom it asks."""
        return Child(address=self.backups, make=self._make_backups, stop_seconds=0.5)

    def control(self) -> Control:
        """All control state, from the reader."""
        return self.reader.call(GetControl(), timeout=CONTROL_SECONDS)

    def show_generation(self) -> None:
        """Show which content there is, once the reader runs."""
        self.board.generation = self.reader.call(GetOrigin(), timeout=CONTROL_SECONDS).generation

    def _begin_anew(self) -> None:
        """Follow up what the death of the writer interrupted, as the next start of the process would."""
        assert self._worker is not None
        assert self._broken is not None
        self._worker.stop(LEFT_SECONDS)
        self.recover()
        self.board.maintenance = "running"
        if self._recovered is not None:
            self.feed.notify(ContentReplaced())
        self.start_worker(self._broken)

    def _make_reader(self, on_death: OnDeath, _former: Actor | None) -> Actor:
        return Reader("reader", on_death, store_path=self.database, owner=self.config.owner_id)

    def _make_pool(self, on_death: OnDeath, _former: Actor | None) -> Actor:
        control = self.control()
        return Pool(
            "probes",
            on_death,
            me=self.probes,
            timer=self.timer,
            outside=Outside(clock=self.clock),
            registry=control.adapters,
            settings=control.settings,
        )

    def _make_backups(self, on_death: OnDeath, former: Actor | None) -> Actor:
        assert self._worker is not None
        self.show_generation()
        recovered, self._recovered = self._recovered, None
        return BackupController(
            "backups",
            on_death,
            me=self.backups,
            world=self._world(),
            worker=self._worker,
            timer=self.timer,
            settings=self.control().settings,
            automatic=self._automatic,
            recovered=recovered,
            postponed=tuple(former.postponed) if isinstance(former, BackupController) else (),
        )

    def _world(self) -> World:
        candidates = Candidates(
            BackupDirectory(Path(self.config.backup_dir)),
            self.database,
            self.config.owner_id,
            self.clock,
            self._meter,
        )
        return World(
            database=self.database,
            owner=self.config.owner_id,
            candidates=candidates,
            writer=self.writer,
            reader=self.reader,
            workloads=self.workloads,
            feed=self.feed,
            board=self.board,
            meter=self._meter,
            clock=self.clock,
            ids=Identifiers(self.clock, system_random()),
        )
