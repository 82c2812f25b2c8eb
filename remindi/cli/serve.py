"""``remindi serve``: the composition root. What starts, in which order (contract 17.1), and what stops."""

import asyncio
import gc
import logging
import os
import secrets
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from actors import data_directory
from actors.actor import Actor
from actors.address import ActorError, Address
from actors.backups.restore import MAINTENANCE
from actors.board import Board
from actors.data_directory import DirectoryInUse, DirectoryLock, DirectoryUnusable
from actors.lease import LeaseKeeper
from actors.messages.workloads import ActorDied, ActorRestarted, ResumeWorkloads, WorkloadsHeld
from actors.scheduler import Scheduler
from actors.sessions import SessionStore
from actors.store import errors as store_errors
from actors.store.write import check_damage
from actors.supervisor import Child, StartAbandoned, StartFailed, Supervisor
from actors.system import Identifiers, SystemClock, system_random
from actors.timer import ThreadTimer
from actors.workloads import Controller
from remindi import __version__
from remindi.callers import mcp_actor_id
from remindi.cli import environment, exits, logs
from remindi.cli.arguments import ConsoleArguments, ServeArguments
from remindi.cli.core import Core, OnDeath
from remindi.cli.envfile import EnvFileError
from remindi.cli.exits import Refused
from remindi.cli.store_refusals import refusal_of_store
from remindi.config import Config, Loaded, Rejected
from remindi.cursors import Cursors
from remindi.errors import Refusal
from remindi.events import ActorType, Caller
from web.admin import AdminServer
from web.api.app import Api
from web.asgi import create_app
from web.door import Door
from web.feed import Feed
from web.loop import LoopThread
from web.operator.operations import Operations
from web.operator.socket import OperatorSocket
from web.server import HttpServer, ServerFailed

log = logging.getLogger("remindi.service")

STOP_SECONDS: Final = 9.0
"""For the whole stop; the contract's 10 s with something to spare for the last log lines."""
REQUESTS_SECONDS: Final = 3.0
"""Of them for running requests."""
RESUME_SECONDS: Final = 5.0
LAST_LINES_SECONDS: Final = 0.5
CONSOLE: Final = "This is the console; it runs neither MCP nor the scheduler."
DAMAGED: Final = "The database is damaged; restore a backup."
COLLECT_AFTER: Final = 50_000
"""Allocations between two looks of the garbage collector."""


def run(arguments: ServeArguments | ConsoleArguments) -> int:
    """Serve until SIGTERM or SIGINT, and return the exit code (``remindi.cli.exits``)."""
    os.umask(0o077)
    _occupy_standard_descriptors()
    service = _Service(arguments)
    service.take_signals()
    code = exits.INTERNAL
    try:
        code = service.serve()
    except Refused as refused:
        code = refused.code
        for line in str(refused).splitlines():
            print(f"remindi: {line}", file=sys.stderr)
    except StartAbandoned:
        code = exits.OK
    except Exception as error:
        log.critical("an uncaught exception ends the service", exc_info=True)
        print(f"remindi: an unexpected {type(error).__name__} ended the service.", file=sys.stderr)
    return _leave(service.stop(code), service)


def _spare_the_collector() -> None:
    """Keep what startup made out of the garbage collector's sight, and let it look less often.

    PERF: a list of 100 items makes thousands of tuples that never form a cycle; with the defaults the
    collector walked over everything alive several times a request (p95 of lists 58 ms, then 30 ms).
    """
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 20, 50)


class _Service:
    """One process of the service, from its first check to its last log line."""

    def __init__(self, arguments: ServeArguments | ConsoleArguments) -> None:
        self._arguments = arguments
        self._clock = SystemClock()
        self._chance = system_random()
        self._board = Board()
        self._timer = ThreadTimer()
        self._feed = Feed()
        self._core = Core(
            board=self._board, clock=self._clock, timer=self._timer, feed=self._feed, automatic=True
        )
        self._lease = Address("lease")
        self._scheduler = Address("scheduler")
        self._sessions = Address("sessions")
        process = Caller(ActorType.SCHEDULER, f"scheduler:process-{secrets.token_hex(8)}", None)
        self._process = process
        self._supervisor = Supervisor(self._children(), clock=self._clock, witness=self)
        self._config: Config | None = None
        self._lock: DirectoryLock | None = None
        self._http: HttpServer | None = None
        self._admin: AdminServer | None = None
        self._loop: LoopThread | None = None
        self._damaged = False
        self.log_lines: logs.LineHandler | None = None

    # ------------------------------------------------------------------ start

    def serve(self) -> int:
        """Start in the order of contract 17.1, keep everything alive, and return when that ends."""
        self._take_configuration()  # step 1
        self._take_data_directory()  # steps 2 and 3
        self._listen()  # step 4: live answers, ready does not
        self._core.recover()  # step 5
        unclean = data_directory.stopped_uncleanly(self._database)
        self._start_actors()  # steps 6 and 7
        self._resume_workloads()  # step 8
        _spare_the_collector()
        self._board.startup = "ready"
        log.info("ready", extra={"cpu_seconds": round(time.process_time(), 3)})
        if unclean:
            self._check_database_beside()
        outcome = self._supervisor.run()
        return exits.OK if outcome == "stopped" else exits.INTERNAL

    def take_signals(self) -> None:
        """Turn SIGTERM and SIGINT into a stop; a second one changes nothing."""

        def ask(number: int, _frame: FrameType | None) -> None:
            self._supervisor.ask_to_stop(signal.Signals(number).name)

        # NOTE: before the HTTP server, which would take them over and raise them again after its own end.
        signal.signal(signal.SIGTERM, ask)
        signal.signal(signal.SIGINT, ask)

    def _take_configuration(self) -> None:
        try:
            loaded = environment.load(self._arguments.env_file)
        except EnvFileError as error:
            raise Refused(exits.CONFIGURATION, str(error)) from None
        if isinstance(loaded, Rejected):
            lines = [str(fault) for fault in loaded.faults]
            if self._arguments.env_file is None:
                lines = [
                    f"{line}; see --env-file and `remindi init`" if " required " in line else line
                    for line in lines
                ]
            raise Refused(exits.CONFIGURATION, "\n".join(lines))
        self._config = loaded.config
        self._core.configure(loaded.config)
        self.log_lines = logs.configure(loaded.config.log_filter)
        log.info("starting", extra={"version": __version__, "pid": os.getpid()})
        _warn(loaded)

    def _take_data_directory(self) -> None:
        directory, backups = self._database.parent, Path(self._settings.backup_dir)
        try:
            self._refuse_a_stray_database()
            data_directory.prepare(directory, "REMINDI_DB_PATH")
            data_directory.secure_database(self._database)
            self._lock = data_directory.lock(directory)
            data_directory.prepare(backups, "REMINDI_BACKUP_DIR")
            data_directory.remove_leftovers(backups)
            data_directory.remove_leftovers(self._database.parent)
        except DirectoryUnusable as error:
            raise Refused(exits.DATA_DIRECTORY, str(error)) from None
        except DirectoryInUse as error:
            raise Refused(exits.RUNNING, str(error)) from None

    def _refuse_a_stray_database(self) -> None:
        """Make no new database while the one that `remindi init` placed lies beside the env file.

        A folder that was moved or copied still names its former place; an empty database there would look
        as if everything were lost.
        """
        try:
            if self._database.exists():
                return
        except OSError:
            return  # The next step says what is wrong with the directory.
        env_file = self._arguments.env_file
        beside = None if env_file is None else env_file.absolute().parent / "data" / "remindi.db"
        if beside is not None and beside.exists():
            raise Refused(
                exits.CONFIGURATION,
                f"REMINDI_DB_PATH names a database that does not exist, while {beside} lies beside the env"
                " file. If the folder was moved, correct the paths in the env file.",
            )
        log.info("a new database is made", extra={"database": str(self._database)})

    def _listen(self) -> None:
        """Bind every address before anything slow begins."""
        match self._arguments:
            case ConsoleArguments(host, port):
                self._serve_console(_bound(host, port))
            case ServeArguments(host, port, _, admin_host, admin_port):
                public, admin = _bound(host, port), None
                if admin_port is not None:
                    self._require_api("--admin-port")
                    admin = _bound(admin_host, admin_port, "--admin-host, --admin-port")
                self._serve_doors(public, admin)

    def _serve_doors(self, public: socket.socket, admin: socket.socket | None) -> None:
        door = self._door(public if admin is None else admin)
        self._http = HttpServer(
            create_app(door, with_api=self._settings.webui_enable and admin is None),
            public,
            on_death=self._supervisor.ask_to_give_up,
            beside=(OperatorSocket(self._database.parent, Operations(door)), self._feed),
        )
        try:
            self._http.start()
        except ServerFailed:
            raise Refused(exits.INTERNAL, "The HTTP server did not start; the log says more.") from None
        host, port = public.getsockname()[:2]
        log.info("listening", extra={"host": host, "port": port})
        if admin is not None:
            self._serve_admin(door, admin, self._http.loop)

    def _serve_console(self, listener: socket.socket) -> None:
        self._require_api("remindi console")
        door = self._door(listener)
        self._loop = LoopThread((OperatorSocket(self._database.parent, Operations(door)),))
        self._loop.start()
        self._serve_admin(door, listener, self._loop.loop)

    def _serve_admin(self, door: Door, listener: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
        self._admin = AdminServer(Api(door), door, listener, Identifiers(self._clock, system_random()))
        self._admin.start(loop)
        host, port = listener.getsockname()[:2]
        log.info("listening for administration", extra={"host": host, "port": port})

    def _require_api(self, wanted_by: str) -> None:
        if not self._settings.webui_enable:
            raise Refused(
                exits.CONFIGURATION, f"REMINDI_WEBUI_ENABLE is false, which leaves nothing for {wanted_by}."
            )

    def _door(self, listener: socket.socket) -> Door:
        config = self._settings
        host, port = listener.getsockname()[:2]
        return Door(
            config=config,
            board=self._board,
            writer=self._core.writer,
            reader=self._core.reader,
            probes=self._core.probes,
            sessions=self._sessions,
            backups=self._core.backups,
            feed=self._feed,
            workloads=self._core.workloads,
            cursors=Cursors(config.mcp_token),
            clock=self._clock,
            ids=Identifiers(self._clock, system_random()),
            actor_id=mcp_actor_id(config.owner_id, config.mcp_token),
            listener=f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
        )

    def _start_actors(self) -> None:
        self._timer.start()
        self._core.start_worker(self._supervisor.ask_to_give_up)
        try:
            self._supervisor.start()
        except StartFailed as failed:
            raise refusal_of(failed) from failed
        self._core.show_generation()

    def _resume_workloads(self) -> None:
        try:
            rows = self._core.workloads.call(ResumeWorkloads(), timeout=RESUME_SECONDS)
            for row in () if isinstance(rows, Refusal) else rows:
                if row.desired == "stopped":
                    log.warning("a workload stays stopped, as was asked", extra={"component": row.component})
        except ActorError:
            # Its rows say what is the matter, and it goes on by itself (contract 17.1 step 8).
            log.warning("the workloads take long to start")

    def _check_database_beside(self) -> None:
        """Read the whole file after an unclean stop, while serving (contract section 16)."""

        def check() -> None:
            log.info("checking the database after an unclean stop")
            try:
                damage = check_damage(self._database)
            except store_errors.StoreError as error:
                log.warning("the database could not be checked: %s", error)
                return
            if damage is None:
                log.info("the database is sound")
                return
            log.error("the database is damaged: %s", damage)
            self._damaged = True
            if self._board.startup == "ready":
                self._board.startup = "damaged"
            self._core.workloads.notify(WorkloadsHeld(reason=DAMAGED))

        threading.Thread(target=check, name="quick-check", daemon=True).start()

    # ----------------------------------------------------------------- actors

    def _children(self) -> tuple[Child, ...]:
        """The actors in starting order; the writer starts first and stops last."""
        return (
            *self._core.keepers(
                (self._lease, self._scheduler, self._core.probes, self._core.backups, self._feed), self._feed
            ),
            Child(address=self._lease, make=self._make_lease_keeper),
            Child(address=self._scheduler, make=self._make_scheduler),
            Child(address=self._core.workloads, make=self._make_controller, stop_seconds=0.5),
            self._core.backup_child(),
            Child(address=self._sessions, make=self._make_session_store, stop_seconds=0.5),
        )

    def _make_lease_keeper(self, on_death: OnDeath, former: Actor | None) -> Actor:
        return LeaseKeeper(
            "lease",
            on_death,
            me=self._lease,
            writer=self._core.writer,
            scheduler=self._scheduler,
            timer=self._timer,
            caller=self._process,
            settings=self._core.control().settings,
            held=former.held if isinstance(former, LeaseKeeper) else None,
        )

    def _make_scheduler(self, on_death: OnDeath, _former: Actor | None) -> Actor:
        return Scheduler(
            "scheduler",
            on_death,
            me=self._scheduler,
            lease=self._lease,
            probes=self._core.probes,
            writer=self._core.writer,
            reader=self._core.reader,
            workloads=self._core.workloads,
            timer=self._timer,
            clock=self._clock,
            chance=self._chance,
            caller=self._process,
            settings=self._core.control().settings,
        )

    def _make_controller(self, on_death: OnDeath, _former: Actor | None) -> Actor:
        return Controller(
            "workloads",
            on_death,
            me=self._core.workloads,
            writer=self._core.writer,
            reader=self._core.reader,
            scheduler=self._scheduler,
            timer=self._timer,
            board=self._board,
            caller=Caller(ActorType.SYSTEM, "system:workloads", None),
            feed=self._feed,
            held=self._held(),
            paused=None if self._board.maintenance == "running" else MAINTENANCE,
        )

    def _held(self) -> str | None:
        """Why the workloads must not run, whatever is desired."""
        if self._damaged:
            return DAMAGED
        return CONSOLE if isinstance(self._arguments, ConsoleArguments) else None

    def _make_session_store(self, on_death: OnDeath, _former: Actor | None) -> Actor:
        return SessionStore(
            "sessions", on_death, config=self._settings, clock=self._clock, secret=secrets.token_bytes
        )

    # ------------------------------------------------- what the supervisor sees

    def died(self, name: str, *, everybody: bool) -> None:
        """Show a death at once: health while nothing can be stored, the workload row always."""
        if everybody and self._board.startup != "stopping":
            self._board.startup = "starting"
        self._core.workloads.notify(ActorDied(name=name))

    def restarted(self, name: str, *, everybody: bool) -> None:
        """Have the workloads brought about that a new actor knows nothing of."""
        self._core.workloads.notify(ActorRestarted(name=name))
        if everybody and self._board.startup == "starting":
            self._board.startup = "damaged" if self._damaged else "ready"

    # ------------------------------------------------------------------- stop

    def stop(self, code: int) -> int:
        """Stop what runs, in reverse; desired workload states stay. Returns the exit code."""
        deadline = time.monotonic() + STOP_SECONDS
        why = self._supervisor.stop_asked or "failure"
        self._board.startup = "stopping"
        if self._config is not None:
            log.info("stopping", extra={"why": why})
        if self._admin is not None:
            self._admin.stop(REQUESTS_SECONDS / 2)
        if self._loop is not None:
            self._loop.stop(REQUESTS_SECONDS / 2)
        if self._http is not None and not self._http.stop(REQUESTS_SECONDS):
            log.error("the HTTP server is stuck")
        self._core.stop_worker(0.0)
        stuck = self._supervisor.stop(within=deadline - time.monotonic())
        self._timer.stop(0.2)
        if "writer" in stuck:
            code = code or exits.INTERNAL
        elif self._lock is not None:
            self._lock.release()
        if self._config is not None:
            log.info("stopped", extra={"why": why, "exit_code": code})
        return code

    @property
    def _settings(self) -> Config:
        assert self._config is not None
        return self._config

    @property
    def _database(self) -> Path:
        return Path(self._settings.db_path)


def _occupy_standard_descriptors() -> None:
    """Open nothing where a standard stream was closed: the next file would take its number."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _bound(host: str, port: int, options: str = "--host, --port") -> socket.socket:
    """A socket that is bound, and listened on by nobody yet.

    Raises:
        Refused: the address cannot be had; the line names the options that chose it.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            # Bound is not enough: a second process could still bind the address beside us.
            listener.listen()
        except OSError:
            listener.close()
            raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise Refused(
            exits.UNAVAILABLE, f"Cannot listen on {host}, port {port} ({options}): {reason.lower()}."
        ) from None
    return listener


def refusal_of(failed: StartFailed) -> Refused:
    """The line and the exit code for an actor that did not start."""
    if isinstance(failed.__cause__, store_errors.StoreError):
        return refusal_of_store(failed.__cause__)
    log.critical("an actor did not start", exc_info=failed, extra={"actor": failed.name})
    return Refused(exits.INTERNAL, f"The {failed.name} did not start; the log says more.")


def _warn(loaded: Loaded) -> None:
    """What an operator should know about the configuration."""
    for warning in loaded.warnings:
        log.warning(warning)
    if loaded.config.log_content:
        log.warning("REMINDI_LOG_CONTENT is true: log lines carry messages and reasons of items")
    if loaded.config.webui_enable and not loaded.config.webui_auth:
        log.warning("REMINDI_WEBUI_AUTH is false: the WebUI is open to everybody who reaches it")


def _leave(code: int, service: _Service) -> int:
    """Write the last lines; end at once when threads are left that are stuck or busy."""
    if service.log_lines is not None:
        service.log_lines.finish(LAST_LINES_SECONDS)
    # NOTE: an actor's thread would keep the process alive, and a daemon may crash the interpreter's own end.
    if threading.active_count() > 1:
        _end_now(code)
    return code


def _end_now(code: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
