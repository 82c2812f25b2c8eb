"""Workloads: shown, started, stopped and restarted (contract 11.9, 13.1)."""

from typing import Any, ClassVar, Final

from falcon.routing import BaseConverter

from actors.messages.workloads import TurnWorkloads
from remindi import audit, views
from remindi.errors import ErrorCode, Refusal
from remindi.inputs.administration import Nothing, read_body
from remindi.schemas import administration as schemas
from remindi.views import Json
from web.api.call import Call
from web.api.policy import Admission, Body, Database, Operation, Policy, Resource, Waits
from web.door import TURN_SECONDS

ALL: Final = "all"
COMPONENTS: Final = ("mcp", "scheduler")
EVENT_OF_ACTION: Final = {
    "start": audit.WORKLOAD_STARTED,
    "stop": audit.WORKLOAD_STOPPED,
    "restart": audit.WORKLOAD_RESTARTED,
}


class Words(BaseConverter):
    """A parameter of which only some words make a path."""

    words: ClassVar[tuple[str, ...]] = ()

    def convert(self, value: str) -> str | None:
        """The word; any other is no path of ours."""
        return value if value in self.words else None


class Component(Words):
    """What is turned."""

    words = (*COMPONENTS, ALL)


class Action(Words):
    """What is done to it."""

    words = tuple(EVENT_OF_ACTION)


class Workloads(Resource):
    """``/workloads``."""

    operations: ClassVar = {
        "GET": Operation(Policy(Admission.SESSION), "Both workloads", schemas.WORKLOADS),
    }

    def on_get(self, _: Call) -> list[Json]:
        """Show both, from memory: also while the database is closed."""
        return _shown(self.door.board.workloads)


class Transition(Resource):
    """``/workloads/{component}/{action}``."""

    operations: ClassVar = {
        "POST": Operation(
            Policy(Admission.MUTATION, Body.JSON, Database.WRITE, Waits.WORKLOADS),
            "Start, stop or restart a workload, or all",
            schemas.WORKLOADS,
            body=Nothing,
            codes=(ErrorCode.NOT_FOUND, ErrorCode.WORKLOAD_CONFLICT),
        )
    }

    def on_post(self, call: Call, component: str, action: str) -> list[Json] | Refusal:
        """Store what is desired, and bring it about."""
        refused: Any = read_body(Nothing, call.body)
        if not isinstance(refused, Refusal):
            components = COMPONENTS if component == ALL else (component,)
            message = TurnWorkloads(caller=call.caller, components=components, action=action)
            refused = call.turn_workloads(message, TURN_SECONDS)
        if not isinstance(refused, Refusal):
            return _shown(refused)
        if refused.code is not ErrorCode.INTERNAL_ERROR:
            # A step that failed has its row: what is desired was stored.
            call.record_refusal(EVENT_OF_ACTION[action], {"component": component}, refused)
        return refused


def _shown(rows: Any) -> list[Json]:
    return [views.workload_data(*row) for row in rows]
