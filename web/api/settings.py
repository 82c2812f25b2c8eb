"""Settings: what the process was started with, and the live integers (contract 11.9, 12)."""

from typing import ClassVar, Final

from actors.messages.readers import ListSettings
from actors.messages.writer import UpdateSetting
from remindi import audit, views
from remindi.config import VARIABLES, Config, Variable
from remindi.errors import ErrorCode, Refusal
from remindi.inputs.administration import SettingUpdate, read_body
from remindi.schemas import administration as schemas
from remindi.views import Json
from web.api.call import Call
from web.api.policy import Admission, Body, Database, Operation, Policy, Resource

LISTENER: Final = "REMINDI_LISTENER_ADDRESS"
CONFIGURED: Final = "[configured]"


class Bootstrap(Resource):
    """``/settings/bootstrap``."""

    operations: ClassVar = {
        "GET": Operation(Policy(Admission.SESSION), "What the service was started with", schemas.BOOTSTRAP)
    }

    def on_get(self, _: Call) -> Json:
        """Show every variable, in clear only where it betrays nothing."""
        rows = [_shown(variable, self.door.config) for variable in VARIABLES]
        rows.append(views.bootstrap_data(LISTENER, self.door.listener, configured=False, redacted=False))
        return {"settings": rows}


class Settings(Resource):
    """``/settings``."""

    operations: ClassVar = {
        "GET": Operation(
            Policy(Admission.SESSION, database=Database.READ), "The settings, by key", schemas.SETTINGS
        )
    }

    def on_get(self, call: Call) -> list[Json]:
        """List all rows."""
        return [views.setting_data(*row) for row in call.read(ListSettings(caller=call.caller))]


class Setting(Resource):
    """``/settings/{key}``."""

    operations: ClassVar = {
        "PATCH": Operation(
            Policy(Admission.MUTATION, Body.JSON, Database.WRITE),
            "Change a setting",
            schemas.SETTING,
            body=SettingUpdate,
            codes=(ErrorCode.VERSION_CONFLICT,),
        )
    }

    def on_patch(self, call: Call, key: str) -> Json | Refusal:
        """Store a value; it is in force when this answers."""
        update = read_body(SettingUpdate, call.body)
        if isinstance(update, Refusal):
            call.record_refusal(audit.RUNTIME_SETTING_UPDATED, audit.about_setting(key), update)
            return update
        row = call.write(
            UpdateSetting(
                caller=call.caller, key=key, value=update.value, expected_version=update.expected_version
            )
        )
        return row if isinstance(row, Refusal) else views.setting_data(*row)


def _shown(variable: Variable, config: Config) -> Json:
    text = config.given.get(variable.name)
    value: str | None = None
    if variable.exposure == "clear":
        value = variable.default if text is None else text
    elif variable.exposure == "configured" and text:
        value = CONFIGURED
    return views.bootstrap_data(
        variable.name, value, configured=text is not None, redacted=variable.exposure != "clear"
    )
