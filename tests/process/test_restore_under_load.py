"""A restore while 20 readers and 8 writers work over both doors: nothing is lost or mixed (P4)."""

import http.client
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from tests.process.acts import fresh, new_item
from tests.process.crowd import Crowd, mcp, rest
from tests.process.rest import Browser
from tests.service import Connection, Json, Service, eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

READERS = 10
WRITERS = 4
FORMER = 50
"""Items that the database holds and the backup does not."""
PROJECT = "watched"
WRITTEN = "written"
CONFIRMED = {"confirmation": "RESTORE REMINDI"}


def assert_of_one_content(messages: list[str]) -> None:
    assert messages.count("former") in (0, FORMER), messages


def walk(ask: Callable[[str | None], Json]) -> None:
    """Read all pages of the list; together they must be of one content."""
    messages: list[str] = []
    cursor: str | None = None
    while True:
        page = ask(cursor)
        messages += [item["message"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert_of_one_content(messages)


def listing(cursor: str | None) -> Json:
    return {"project_id": PROJECT, "limit": 20} | ({} if cursor is None else {"cursor": cursor})


def query(cursor: str | None) -> str:
    return f"/remindi?project_id={PROJECT}&limit=20" + ("" if cursor is None else f"&cursor={cursor}")


def messages_in(database: Path) -> set[str]:
    with closing(apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        return {row[0] for row in connection.execute("SELECT message FROM body")}


def test_a_restore_under_load_loses_and_mixes_nothing(service: Service) -> None:
    for number in range(30):
        assert service.call("remindi_add", {**new_item(PROJECT), "message": f"kept {number}"})["ok"]
    admin = Browser(service).sign_in()
    made = admin.request("POST", "/backups")
    assert made.status == http.client.CREATED
    for _ in range(FORMER):
        assert service.call("remindi_add", {**new_item(PROJECT), "message": "former"})["ok"]
    acknowledged: list[str] = []
    writers, readers = Crowd(), Crowd()
    connections: list[Connection | Browser] = [admin]

    def write(send: Callable[[Json], object]) -> None:
        message = fresh("message")
        send({**new_item(WRITTEN), "message": message, "idempotency_key": message})
        acknowledged.append(message)

    for _ in range(WRITERS):
        connection, browser = service.connection(), Browser(service).sign_in()
        connections += [connection, browser]
        writers.add(lambda c=connection: write(lambda item: mcp(c, "remindi_add", item)))  # type: ignore[misc]
        writers.add(
            lambda b=browser: write(lambda item: rest(b, "POST", "/remindi", item))  # type: ignore[misc]
        )
    for _ in range(READERS):
        connection, browser = service.connection(), Browser(service).sign_in()
        connections += [connection, browser]
        readers.add(
            lambda c=connection: walk(lambda cursor: mcp(c, "remindi_list", listing(cursor)))  # type: ignore[misc]
        )
        readers.add(
            lambda b=browser: walk(lambda cursor: rest(b, "GET", query(cursor)))  # type: ignore[misc]
        )
    try:
        eventually(lambda: len(acknowledged) > 50 and readers.done > 20, within=60.0)
        before = set(acknowledged)
        path = f"/backups/{made.json()['data']['id']}/restore"
        answer = admin.request("POST", path, CONFIRMED)
        assert answer.status == http.client.OK, answer.body
        after = len(acknowledged)
        eventually(lambda: len(acknowledged) > after + 50, within=60.0)
    finally:
        writers.end()
        readers.end()
    state = admin.data("GET", "/restores/latest")["restore"]
    for each in connections:
        each.__exit__(None, None, None)
    secured = messages_in(service.backups / f"remindi-{state['pre_restore_backup_id']}.sqlite3")
    live = messages_in(service.database)
    assert before <= secured
    assert set(acknowledged) <= secured | live
    # What is in both is the content of the backup alone: nothing written meanwhile went into two contents.
    assert {message for message in secured & live if not message.startswith("kept ")} == set()
    assert set(acknowledged[after:]) - secured <= live
    assert "former" not in live
    assert readers.refusals + writers.refusals > 0
