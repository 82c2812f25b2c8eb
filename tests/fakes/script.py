"""Short forms of what a caller and the scheduler do to a core, for tests that tell a story."""

from typing import Any, Final

from actors.messages.writer import AcquireLease, EvaluateRipe, RipeBatch
from remindi.events import ActorType, Caller
from tests.fakes.core import Core, Json

HOLDER: Final = "scheduler:process-0"
PAST: Final = "2027-01-01T00:00:00Z"
"""Before the clock of every core."""


class Script:
    """Short forms of what these tests do."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self._keys = 0

    def key(self) -> str:
        self._keys += 1
        return f"script-{self._keys:04d}"

    def add(self, **arguments: Any) -> str:
        given = {
            "project_id": "p",
            "message": "m",
            "trigger": {"type": "at_time", "at": PAST},
            "idempotency_key": self.key(),
        }
        name: str = self.core.data("remindi_add", **(given | arguments))["remindi"]["id"]
        return name

    def change(self, tool: str, name: str, **arguments: Any) -> Json:
        version = self.item(name)["version"]
        target = {"remindi_id": name, "expected_version": version, "idempotency_key": self.key()}
        return self.core.data(tool, **target, **({"reason": "r"} | arguments))

    def item(self, name: str) -> Json:
        found: Json = self.core.data("remindi_list", remindi_id=name)["items"][0]
        return found

    def page(self, cursor: str | None = None, **arguments: Any) -> tuple[list[str], str | None]:
        given = {"project_id": "p", "lifecycle_event": "checkpoint", "limit": 1, "cursor": cursor}
        data = self.core.data("remindi_check", **(given | arguments))
        return [item["remindi_id"] for item in data["items"]], data["next_cursor"]

    def rest(self, cursor: str | None, **arguments: Any) -> list[str]:
        found: list[str] = []
        while cursor is not None:
            names, cursor = self.page(cursor, **arguments)
            found += names
        return found

    def pass_(self) -> None:
        """One pass of the scheduler."""
        self.core.write(AcquireLease(holder=HOLDER))
        caller = Caller(ActorType.SCHEDULER, HOLDER, None)
        as_of = self.core.clock.now()
        message = EvaluateRipe(caller=caller, lease=HOLDER, as_of=as_of, after=None, limit=200)
        assert isinstance(self.core.write(message), RipeBatch)
