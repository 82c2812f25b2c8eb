"""Data for the benchmarks, written through the store itself."""

import hashlib
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from random import Random

from actors.store import ReadStore, WriteStore
from actors.system import SystemClock, system_random
from remindi.answers import Mutated
from remindi.events import ActorType, Caller
from remindi.items import Content, Priority, State
from remindi.links import Link, LinkType
from remindi.requests import Cancellation, IdempotencyKey, ListQuery, NewItem
from remindi.triggers import AtTime, Trigger

CALLER = Caller(ActorType.AGENT, "mcp:bench", "bench")
INSTRUCTIONS = "Run the health checks, look at the deployed pages, and note what was seen. " * 3
DAY_MS = 86_400_000
_BEGINNINGS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "lmnrst"]
_ENDINGS = ["", "a", "ed", "er", "ing", "ment", "s", "tion"]


def new_item(number: int, project: str, at: int, grace: int, trigger: Trigger | None = None) -> NewItem:
    """An item of ordinary size: message, instructions, two links. Without a trigger it fires at ``at``."""
    return NewItem(
        IdempotencyKey("remindi_add", f"seed-{number:08d}", hashlib.sha256(b"%d" % number).digest()),
        Content(
            project,
            f"task-{number % 50}",
            f"Verify deployment {number} after its observation window.",
            INSTRUCTIONS,
            "session-1",
            "lineage-1",
            trigger or AtTime(at),
            None,
        ),
        Priority(number % 4),
        grace,
        (Link(LinkType.ISSUE, f"issue-{number}"), Link(LinkType.URL, f"https://example.com/{number}")),
    )


def store(path: Path, owner: str, items: Iterable[NewItem], *, evaluate: bool) -> None:
    """Write items, and evaluate what is reached when asked to; the service must not run."""
    writer = WriteStore(path, owner, SystemClock(), system_random())
    writer.begin()
    for item in items:
        answer, _ = writer.mutations.add(writer.moment(CALLER), item)
        if not isinstance(answer, Mutated):
            raise TypeError(f"refused: {answer}")
    writer.commit()
    if evaluate:
        as_of = SystemClock().now()
        position = None
        writer.begin()
        while True:
            batch, _ = writer.evaluations.ripe(writer.moment(CALLER), as_of, position, 200)
            position = batch.next
            if position is None:
                break
        writer.commit()
    writer.close()


def ten_projects(now: int) -> Iterable[NewItem]:
    """10,000 items in 10 projects of 1,000; `ready-N` has N items due, the others lie in the future."""
    ready = {"ready-10": 10, "ready-50": 50}
    names = ["ready-0", *ready, *(f"project-{number}" for number in range(7))]
    for number in range(10_000):
        project = names[number % 10]
        due = number // 10 < ready.get(project, 0)
        at = now - 60_000 - number if due else now + 30 * DAY_MS + number
        yield new_item(number, project, at, 31_536_000)


def common_words(count: int, now: int) -> Iterable[NewItem]:
    """Items whose words are as unevenly frequent as those of a language; every second one is a deployment."""
    chance = Random(1)
    words = [f"{first}{last}" for first in _BEGINNINGS for last in _ENDINGS]
    weights = list(accumulate(1 / place for place in range(4, len(words) + 4)))
    for number in range(count):
        item = new_item(number, f"project-{number % 10}", now + chance.randint(-30, 30) * DAY_MS, 31_536_000)
        subject = "Verify the deployment" if number % 2 else "Look after"
        said = " ".join([subject, *chance.choices(words, cum_weights=weights, k=8)])
        advice = " ".join(chance.choices(words, cum_weights=weights, k=40))
        yield item._replace(content=item.content._replace(message=said, instructions=advice))


def cancel(path: Path, owner: str, share: float) -> None:
    """End a share of the items, which are at their first version; the service must not run."""
    reader = ReadStore(path, owner)
    query = ListQuery(None, None, None, (State.SCHEDULED,), (), None, None, 200, None)
    writer = WriteStore(path, owner, SystemClock(), system_random())
    chance = Random(2)
    writer.begin()
    while True:
        page = reader.list_page(query)
        for item, _, _ in page.items:
            if chance.random() < share:
                key = IdempotencyKey("remindi_cancel", f"cancel-{item.key:08d}", item.id * 2)
                writer.mutations.cancel(
                    writer.moment(CALLER), Cancellation(key, item.id, item.version, "over")
                )
        if page.next is None:
            break
        query = query._replace(after=page.next)
    writer.commit()
    writer.close()
    reader.close()


def reached(count: int, now: int) -> Iterable[NewItem]:
    """Items over ten projects whose time has come."""
    for number in range(count):
        yield new_item(number, f"project-{number % 10}", now - 60_000 - number, 31_536_000)


def large(megabytes: int, now: int) -> Iterable[NewItem]:
    """Items whose instructions, of one word that repeats, fill so many megabytes."""
    padding = "padding " * 1_000
    for number in range(megabytes * 1_000_000 // len(padding) * 9 // 10):
        item = new_item(number, f"project-{number % 10}", now + DAY_MS + number, 31_536_000)
        yield item._replace(content=item.content._replace(instructions=padding))
