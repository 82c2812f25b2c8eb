"""A stopped service, opened for its operator: what keeps its database in this process, and nobody else."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, assert_never

from actors import data_directory
from actors.actor import Actor
from actors.address import Address
from actors.board import Board
from actors.data_directory import DirectoryLock
from actors.messages.workloads import BackupsReported, PauseWorkloads, ReleaseWorkloads, WorkloadsFailed
from actors.store.errors import StoreError
from actors.store.write import check_damage
from actors.supervisor import Child, StartFailed, Supervisor
from actors.system import Identifiers, SystemClock, system_random
from actors.timer import ThreadTimer
from remindi.callers import mcp_actor_id
from remindi.cli import exits
from remindi.cli.core import Core, OnDeath
from remindi.cli.exits import Refused
from remindi.cli.operator import Ask
from remindi.cli.serve import DAMAGED, refusal_of
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
    core = _Stopped(config)
    try:
        core.start()
        yield core.ask
    finally:
        if core.stop():
            lock.release()


class _Stopped:
    def __init__(self, config: Config) -> None:
        board = Board()
        self._timer = ThreadTimer()
        clock = SystemClock()
        self._core = Core(board=board, clock=clock, timer=self._timer, feed=Address("feed"), automatic=False)
        self._core.configure(config)
        self._supervisor = Supervisor(
            (
                *self._core.keepers((self._core.probes, self._core.backups), None),
                Child(address=self._core.workloads, make=_make_workloads, stop_seconds=0.5),
                self._core.backup_child(),
            ),
            clock=clock,
        )
        board.startup = "ready"
        self._operations = Operations(
            Door(
                config=config,
                board=board,
                writer=self._core.writer,
                reader=self._core.reader,
                probes=self._core.probes,
                workloads=self._core.workloads,
                backups=self._core.backups,
                cursors=Cursors(config.mcp_token),
                clock=clock,
                ids=Identifiers(clock, system_random()),
                actor_id=mcp_actor_id(config.owner_id, config.mcp_token),
            )
        )

    def start(self) -> None:
        self._core.recover()
        self._refuse_damage()
        self._timer.start()
        self._core.start_worker(self._supervisor.ask_to_give_up)
        try:
            self._supervisor.start()
        except StartFailed as failed:
            raise refusal_of(failed) from failed
        self._core.show_generation()

    def ask(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return asyncio.run(self._operations.answer({"operation": operation, "arguments": arguments}))

    def stop(self) -> bool:
        """Stop in reverse; whether the writer has ended."""
        self._core.stop_worker(0.0)
        stuck = self._supervisor.stop(within=STOP_SECONDS)
        self._timer.stop(0.2)
        return "writer" not in stuck

    def _refuse_damage(self) -> None:
        """Look at the whole file after an unclean stop: this process closes it cleanly, so no start would."""
        if not data_directory.stopped_uncleanly(self._core.database):
            return
        try:
            damage = check_damage(self._core.database)
        except StoreError as error:
            raise Refused(exits.DATABASE, str(error)) from None
        if damage is not None:
            raise Refused(exits.DATABASE, DAMAGED)


class _NoWorkloads(Actor):
    """Stands for the workload controller: nothing runs here that a restore would have to pause."""

    def handle(self, message: PauseWorkloads | ReleaseWorkloads | WorkloadsFailed | BackupsReported) -> Any:
        """Answer that nothing runs."""
        match message:
            case PauseWorkloads() | ReleaseWorkloads():
                return ()
            case WorkloadsFailed() | BackupsReported():
                return None
            case _:
                assert_never(message)


def _make_workloads(on_death: OnDeath, _former: Actor | None) -> Actor:
    return _NoWorkloads("workloads", on_death)
