"""Audit: what people did in administration, and what came of it (contract 11.9, 13.2)."""

from typing import ClassVar

from actors.messages.readers import ListAudit
from remindi import views
from remindi.errors import Refusal
from remindi.inputs.query_strings import AuditParameters, read_audit_parameters
from remindi.schemas import administration as schemas
from remindi.views import Json
from web.api.call import Call
from web.api.policy import Admission, Database, Operation, Policy, Resource
from web.api.query import parameters


class AdminEvents(Resource):
    """``/admin-events``."""

    operations: ClassVar = {
        "GET": Operation(
            Policy(Admission.SESSION, database=Database.READ),
            "What was attempted in administration",
            schemas.AUDIT,
            query=AuditParameters,
        )
    }

    def on_get(self, call: Call) -> list[Json] | Refusal:
        """Show rows in the order that is asked for."""
        query = read_audit_parameters(parameters(call.facts), self.door.clock.now())
        if isinstance(query, Refusal):
            return query
        return views.audit_data(call.read(ListAudit(caller=call.caller, query=query)))
