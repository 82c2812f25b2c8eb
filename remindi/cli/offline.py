"""A stopped service, opened for its operator: writer, reader and probes in this process, and nobody else."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from actors import data_directory
from actors.actor import Actor
from actors.address import Address
from actors.board import Board
from actors.data_directory import DirectoryLock
from actors.messages.readers import GetControl
from actors.probes.looking import Outside
from actors.probes.pool import Pool
from actors.readers import Reader
from actors.store.errors import StoreError
from actors.store.write import check_damage
from actors.supervisor import Child, StartFailed, Supervisor
from actors.system import Identifiers, SystemClock, system_random
from actors.timer import ThreadTimer
from actors.writer import Writer
from remindi.callers import mcp_actor_id
from remindi.cli import exits
from remindi.cli.exits import Refused
from remindi.cli.operator import Ask
from remindi.cli.serve import CONTROL_SECONDS, DAMAGED, WRITER_START_SECONDS, OnDeath, refusal_of
from remindi.config import Config
from remindi.cursors import Cursors
from web.door import Door
from web.operator.operations import Operations

STOP_SECONDS: Final = 9.0


@contextmanager
def opened(config: Config, lock: DirectoryLock) -> Iterator[Ask]:
    """The operations of a stopped service.

    Args:
        config: of the service.
        lock: of its data directory; released at the end.

    Raises:
        Refused: the database cannot be used.
    """
    core = _Core(config)
    try:
        core.start()
        yield core.ask
    finally:
        if core.stop():
            lock.release()


class _Core:
    def __init__(self, config: Config) -> None:
        self._config = config
        self._database = Path(config.db_path)
        self._clock = SystemClock()
        self._timer = ThreadTimer()
        self._writer = Address("writer")
        self._reader = Address("reader")
        self._probes = Address("probes")
        self._supervisor = Supervisor(
            (
                Child(
                    address=self._writer,
                    make=self._make_writer,
                    start_seconds=WRITER_START_SECONDS,
                    stop_seconds=3.0,
                    restart_all=True,
                ),
                Child(address=self._reader, make=self._make_reader, stop_seconds=1.0),
                Child(address=self._probes, make=self._make_pool, stop_seconds=1.0),
            ),
            clock=self._clock,
        )
        board = Board()
        board.startup = "ready"
        self._operations = Operations(
            Door(
                config=config,
                board=board,
                writer=self._writer,
                reader=self._reader,
                probes=self._probes,
                cursors=Cursors(config.mcp_token),
                clock=self._clock,
                ids=Identifiers(self._clock, system_random()),
                actor_id=mcp_actor_id(config.owner_id, config.mcp_token),
            )
        )

    def start(self) -> None:
        self._refuse_damage()
        self._timer.start()
        try:
            self._supervisor.start()
        except StartFailed as failed:
            raise refusal_of(failed) from failed

    def ask(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return asyncio.run(self._operations.answer({"operation": operation, "arguments": arguments}))

    def stop(self) -> bool:
        """Stop in reverse; whether the writer has ended."""
        stuck = self._supervisor.stop(within=STOP_SECONDS)
        self._timer.stop(0.2)
        return "writer" not in stuck

    def _refuse_damage(self) -> None:
        """Look at the whole file after an unclean stop: this process closes it cleanly, so no start would."""
        if not data_directory.stopped_uncleanly(self._database):
            return
        try:
            damage = check_damage(self._database)
        except StoreError as error:
            raise Refused(exits.DATABASE, str(error)) from None
        if damage is not None:
            raise Refused(exits.DATABASE, DAMAGED)

    def _make_writer(self, on_death: OnDeath, _former: Actor | None) -> Actor:
        return Writer(
            "writer",
            on_death,
            store_path=self._database,
            owner=self._config.owner_id,
            clock=self._clock,
            chance=system_random(),
            subscribers=(self._probes,),
        )

    def _make_reader(self, on_death: OnDeath, _former: Actor | None) -> Actor:
        return Reader("reader", on_death, store_path=self._database, owner=self._config.owner_id)

    def _make_pool(self, on_death: OnDeath, _former: Actor | None) -> Actor:
        control = self._reader.call(GetControl(), timeout=CONTROL_SECONDS)
        return Pool(
            "probes",
            on_death,
            me=self._probes,
            timer=self._timer,
            outside=Outside(clock=self._clock),
            registry=control.adapters,
            settings=control.settings,
        )
