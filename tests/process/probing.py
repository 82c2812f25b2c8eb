"""What tests of conditions do: configure adapters as an operator does, set settings, make condition items."""

import json
import sqlite3
import subprocess
from contextlib import closing
from typing import Any

from tests.process.acts import fresh
from tests.service import Json, Service

COMMAND_BOUND = 60.0


def adapters(
    service: Service, *arguments: str, given: Json | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run ``remindi adapters`` on a service that runs or not."""
    return subprocess.run(
        [*service.command, "adapters", *arguments],
        env=service.env,
        cwd=service.root,
        input=None if given is None else json.dumps(given),
        capture_output=True,
        text=True,
        timeout=COMMAND_BOUND,
        check=False,
    )


def configure(service: Service, name: str, *, enabled: bool = True, **configuration: Any) -> None:
    """Store the whole configuration of an adapter."""
    body = {"enabled": enabled, "configuration": {"type": name, **configuration}}
    done = adapters(service, "set", name, "--file", "-", given=body)
    assert done.returncode == 0, done.stderr


def tune(service: Service, **settings: int) -> None:
    """Set settings of a service that does not run; the first word of a key ends at its ``__``."""
    with closing(sqlite3.connect(service.database)) as connection, connection:
        for key, value in settings.items():
            changed = connection.execute(
                "UPDATE setting SET value = ? WHERE key = ?", (value, key.replace("__", "."))
            )
            assert changed.rowcount == 1, key


def condition(adapter: str, parameters: Json, **trigger: Any) -> Json:
    """Arguments of an add."""
    return {
        "project_id": "conditions",
        "message": "See whether it is true.",
        "trigger": {"type": "condition", "adapter": adapter, "parameters": parameters, **trigger},
        "idempotency_key": fresh("condition"),
    }


def check(**changes: Any) -> Json:
    """Arguments of a check."""
    return {"project_id": "conditions", "lifecycle_event": "checkpoint", **changes}
