"""Adapters: listed, changed whole, and tried (contract 7.3, 11.9)."""

from typing import ClassVar, Final

from actors.messages.readers import ListAdapters
from remindi import views
from remindi.errors import ErrorCode, Refusal
from remindi.inputs.adapters import AdapterBody
from remindi.inputs.administration import AliasTrial, read_body
from remindi.schemas import administration as schemas
from remindi.views import Json
from web import adapters
from web.api.call import Call
from web.api.policy import Admission, Body, Database, Operation, Policy, Resource, Waits

UPDATE_SECONDS: Final = 150.0
"""More than the asks of an update may take together."""
TRY_SECONDS: Final = 150.0
"""More than a probe may take to get its turn and to end, at the highest setting."""


class Adapters(Resource):
    """``/adapters``."""

    operations: ClassVar = {
        "GET": Operation(
            Policy(Admission.SESSION, database=Database.READ), "The adapters, by name", schemas.ADAPTERS
        )
    }

    def on_get(self, call: Call) -> list[Json]:
        """List all four."""
        return [views.adapter_data(row) for row in call.read(ListAdapters(caller=call.caller))]


class Adapter(Resource):
    """``/adapters/{name}``."""

    operations: ClassVar = {
        "PATCH": Operation(
            Policy(Admission.MUTATION, Body.JSON, Database.WRITE, Waits.TRIALS),
            "Change an adapter whole",
            schemas.ADAPTER,
            body=AdapterBody,
            codes=(ErrorCode.ADAPTER_NOT_FOUND, ErrorCode.VERSION_CONFLICT),
        )
    }

    def on_patch(self, call: Call, name: str) -> Json | Refusal:
        """Store a configuration; it is in force when this answers."""
        row = call.run(
            lambda: adapters.update_adapter(self.door, name, call.body, call.caller), UPDATE_SECONDS
        )
        return row if isinstance(row, Refusal) else views.adapter_data(row)


class AdapterTest(Resource):
    """``/adapters/{name}/test``."""

    operations: ClassVar = {
        "POST": Operation(
            Policy(Admission.MUTATION, Body.JSON, Database.READ, Waits.TRIALS),
            "Probe an alias now, once; nothing is stored",
            schemas.PROBE,
            body=AliasTrial,
            codes=(ErrorCode.ADAPTER_NOT_FOUND,),
        )
    }

    def on_post(self, call: Call, name: str) -> Json | Refusal:
        """Look at one alias."""
        trial = read_body(AliasTrial, call.body)
        if isinstance(trial, Refusal):
            return trial
        tried = call.run(lambda: adapters.try_alias(self.door, name, trial.alias, call.caller), TRY_SECONDS)
        return tried if isinstance(tried, Refusal) else views.probe_data(*tried)
