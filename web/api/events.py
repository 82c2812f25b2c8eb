"""Events: who may open a stream; it is then served on the loop."""

from typing import ClassVar

from remindi.errors import NOT_FOUND, ErrorCode, Refusal
from remindi.views import Json
from web import events
from web.api.call import Call
from web.api.policy import Admission, Operation, Policy, Resource


class Events(Resource):
    """``/events``."""

    operations: ClassVar = {
        "GET": Operation(
            Policy(Admission.SESSION),
            "What changes, as server-sent events",
            {"type": "object"},
            codes=(ErrorCode.NOT_FOUND, ErrorCode.LIMIT_EXCEEDED),
            media_type="text/event-stream",
        )
    }

    def on_get(self, call: Call) -> Json | Refusal:
        """Let a stream be opened, when there is a loop to serve it."""
        served = call.go_on(lambda exchange: events.serve(exchange, self.door, call.token))
        return {} if served else NOT_FOUND
