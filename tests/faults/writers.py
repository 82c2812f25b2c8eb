"""Writers that remember what they sent and what was acknowledged, and ask for it again."""

import http.client
import random
import threading
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import apsw

from tests.process.acts import (
    ERAS,
    all_items,
    assert_history_explains,
    completion,
    fresh,
    history,
    new_item,
    update,
)
from tests.service import Connection, Json, ProtocolError, Service

LOST: Final = (OSError, http.client.HTTPException)
"""What a caller sees when the service dies under its request."""


PASSING: Final = ("DATABASE_BUSY", "MAINTENANCE_ACTIVE", "INTERNAL_ERROR")
"""What a service may say for a moment while a part of it is being restarted."""


class Refused(Exception):
    """A tolerant writer met a refusal that will pass."""


@dataclass(slots=True)
class Act:
    """One mutation: what was sent, and the data that acknowledged it; None when no answer came."""

    tool: str
    arguments: Json
    data: Json | None = None


@dataclass(slots=True)
class Writer:
    """One client that adds, updates, completes and repeats on items of its own."""

    project: str
    chance: random.Random
    acts: list[Act] = field(default_factory=list)
    open_items: list[Json] = field(default_factory=list)
    """Id, state and version of what it may still change."""
    tolerant: bool = False
    """Whether a refusal that will pass is no surprise; what it refused is settled by `verify`."""

    def act(self, connection: Connection) -> None:
        """Do one thing at random; what is not acknowledged must raise one of `LOST`."""
        draw = self.chance.random()
        done = [act for act in self.acts if act.data is not None]
        if draw < 0.15 and done:
            repeated = self.chance.choice(done)
            assert self._send(connection, repeated.tool, repeated.arguments) == repeated.data
            return
        if draw < 0.55 or not self.open_items:
            self._do(connection, "remindi_add", new_item(self.project))
            return
        item = self.open_items.pop(self.chance.randrange(len(self.open_items)))
        if draw < 0.8:
            changed = update(item["id"], item["version"], fresh("message"))
            self._do(connection, "remindi_update", changed)
        else:
            self._do(connection, "remindi_complete", completion(item["id"], item["version"]))

    def _do(self, connection: Connection, tool: str, arguments: Json) -> None:
        act = Act(tool, arguments)
        self.acts.append(act)
        act.data = self._send(connection, tool, arguments)
        if act.data["remindi"]["state"] == "scheduled":
            self.open_items.append(act.data["remindi"])

    def _send(self, connection: Connection, tool: str, arguments: Json) -> Json:
        answer = connection.call(tool, arguments, self.chance.choice(ERAS))
        if self.tolerant and not answer["ok"] and answer["error"]["code"] in PASSING:
            raise Refused
        assert answer["ok"], (tool, arguments, answer)
        data: Json = answer["data"]
        return data

    def verify(self, connection: Connection, stored: dict[str, Json]) -> set[str]:
        """Assert that nothing acknowledged is lost, and settle what was in the air; return our items' ids.

        Args:
            connection: to the service that was started again.
            stored: every item of the project as it was before anything was repeated.
        """
        self.tolerant = False
        for act in self.acts:
            if act.data is None:
                continue
            told = act.data["remindi"]
            assert told["id"] in stored, act
            assert stored[told["id"]]["version"] >= told["version"], act
        for act in self.acts:
            answer = self._send(connection, act.tool, act.arguments)
            assert act.data in (None, answer), (act, answer)
            act.data = answer
        final: dict[str, Json] = {}
        for act in self.acts:
            assert act.data is not None
            final[act.data["remindi"]["id"]] = act.data["remindi"]
        for told in final.values():
            (item,) = connection.call("remindi_list", {"remindi_id": told["id"]})["data"]["items"]
            assert (item["state"], item["version"]) == (told["state"], told["version"])
            assert_history_explains(item, history(connection, told["id"]))
        return set(final)


class Crew:
    """Some writers at work at once, until they are told to stop or the service is gone."""

    def __init__(self, service: Service, project: str, size: int, chance: random.Random) -> None:
        self.project = project
        self.writers = [Writer(project, random.Random(chance.random())) for _ in range(size)]
        self.failures: list[BaseException] = []
        self._service = service
        self._stop = threading.Event()
        self._acknowledged = threading.Semaphore(0)
        self._threads: list[threading.Thread] = []

    def tolerate(self) -> None:
        """Have all take refusals that will pass, and HTTP's 503, for a reason to go on."""
        for writer in self.writers:
            writer.tolerant = True

    def start(self) -> None:
        """Set all to work."""
        self._stop.clear()
        self._threads = [threading.Thread(target=self._work, args=(writer,)) for writer in self.writers]
        for thread in self._threads:
            thread.start()

    def wait_for(self, acknowledged: int, *, within: float = 60.0) -> None:
        """Return when so many acts were acknowledged."""
        for _ in range(acknowledged):
            assert self._acknowledged.acquire(timeout=within), self.failures

    def join(self) -> None:
        """Tell all to stop, wait for them, and raise what surprised one of them."""
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()
        if self.failures:
            raise self.failures[0]

    def _work(self, writer: Writer) -> None:
        try:
            with self._service.connection() as connection:
                while not self._stop.is_set():
                    try:
                        writer.act(connection)
                    except Refused:
                        continue
                    except ProtocolError as error:
                        if not (writer.tolerant and error.status == http.client.SERVICE_UNAVAILABLE):
                            raise
                        continue
                    self._acknowledged.release()
        except LOST:
            return
        except BaseException as error:
            self.failures.append(error)

    def verify(self, connection: Connection) -> None:
        """Assert that what is stored is what the writers were told, and nothing else."""
        stored = {item["id"]: item for item in all_items(connection, self.project)}
        for remindi_id, item in stored.items():
            assert_history_explains(item, history(connection, remindi_id))
        known: set[str] = set()
        for writer in self.writers:
            known |= writer.verify(connection, stored)
        assert {item["id"] for item in all_items(connection, self.project)} == known


HALVES: Final = {
    "an item without an event": "SELECT key FROM item WHERE key NOT IN (SELECT item FROM event)",
    "an item without a body": "SELECT key FROM item WHERE key NOT IN (SELECT key FROM body)",
    "an item with other events than counted":
        "SELECT key FROM item WHERE event_count <> (SELECT count(*) FROM event WHERE event.item = item.key)",
    "an item with another version than its events":
        "SELECT key FROM item"
        " WHERE version <> (SELECT max(new_version) FROM event WHERE event.item = item.key)",
    "evidence without completion":
        "SELECT item FROM evidence WHERE item NOT IN (SELECT key FROM item WHERE state = 4)",
    "completion without evidence":
        "SELECT key FROM item WHERE state = 4 AND key NOT IN (SELECT item FROM evidence)",
    "an idempotency record of nothing":
        "SELECT key FROM idempotency WHERE unhex(answer ->> '$[0]') NOT IN (SELECT id FROM item)",
    "identifiers that do not rise": "SELECT a.key FROM item a JOIN item b ON b.key > a.key AND b.id <= a.id",
}  # fmt: skip
"""Queries that must find nothing."""


def assert_file_is_sound(database: Path) -> None:
    """Assert that SQLite finds no fault in the file, and that nothing in it is half."""
    with closing(apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        assert rows(connection, "PRAGMA integrity_check") == [("ok",)]
        assert rows(connection, "PRAGMA foreign_key_check") == []
        for name, query in HALVES.items():
            assert rows(connection, query) == [], name


def rows(connection: apsw.Connection, query: str) -> list[Any]:
    """All rows of a query."""
    return list(connection.execute(query))


def set_poll_interval(database: Path, seconds: int) -> None:
    """Have the scheduler of a stopped service look that often from its next start on."""
    with closing(apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        connection.execute(
            "UPDATE setting SET value = ? WHERE key = 'scheduler.poll_interval_seconds'", (seconds,)
        )
