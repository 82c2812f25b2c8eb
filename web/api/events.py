"""Events: who may open a stream; the guard then serves it on the loop."""

from typing import ClassVar, Final

from remindi.errors import NOT_FOUND, ErrorCode, Refusal
from remindi.views import Json
from web.api.answering import Refused
from web.api.call import Call
from web.api.policy import Admission, Operation, Policy, Resource

RETRY_SECONDS: Final = 10


class Events(Resource):
    """``/events``."""

    operations: ClassVar = {
        "GET": Operation(
            Policy(Admission.SESSION),
            "What changes, as server-sent events",
            {"type": "object"},
            codes=(ErrorCode.NOT_FOUND, ErrorCode.LIMIT_EXCEEDED),
            streams=True,
        )
    }

    def on_get(self, call: Call) -> Json | Refusal:
        """Let a stream be opened, when there is room for it and a loop to serve it."""
        if not call.facts.streams:
            return NOT_FOUND
        if self.door.feed.is_full(call.token):
            raise Refused(Refusal(ErrorCode.LIMIT_EXCEEDED), status=429, retry_after=RETRY_SECONDS)
        return {}
