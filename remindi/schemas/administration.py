"""``data`` of the routes of the administration API (contract 11.5 to 11.9, 13)."""

from typing import Final, get_args

from remindi import tools
from remindi.adapters import ADAPTER_NAMES
from remindi.backups import PHASES, JobKind, JobStep, MaintenanceState, RestoreOutcome, Source, Status
from remindi.items import PRIORITY_WORDS, READINESS_WORDS, STATE_WORDS, STATUS_WORDS, words
from remindi.overview import AGENDA_ENTRIES, Happening
from remindi.schemas.answers import DATA, EVENT, EVIDENCE, ITEM, NEXT_CURSOR, WARNINGS
from remindi.schemas.pieces import (
    array,
    boolean,
    closed_object,
    integer,
    nullable,
    open_object,
    string,
    timestamp,
    word,
)
from remindi.settings import BY_KEY

_VERSION: Final = integer("expected_version of the next change.", 1)
_UPDATED: Final = {
    "version": _VERSION,
    "updated_at": timestamp("When it was changed last."),
    "updated_by": string("Actor that changed it last."),
}

SESSION: Final = closed_object(
    {
        "authenticated": boolean("Whether somebody is signed in; with authentication off always true."),
        "authentication_required": boolean("Whether the service asks for a sign-in at all."),
        "actor_id": nullable(string("Who acts, as events and audit name them.")),
        "csrf_token": string("X-CSRF-Token of every change; without a session, of one sign-in."),
        "expires_at": nullable(timestamp("When the session ends.")),
        "reauthentication_required": boolean("Always false."),
    }
)
LOGGED_OUT: Final = closed_object({"logged_out": boolean("Always true.")})

# -------------------------------------------------------------------- items

CHANGED_ITEM: Final = closed_object({"remindi": ITEM})
STORED_ITEM: Final = closed_object({"remindi": ITEM, "warnings": WARNINGS}, optional=("warnings",))
CHECK: Final = DATA[tools.CHECK]
LIST: Final = DATA[tools.LIST]
HISTORY: Final = closed_object(
    {
        "events": array("What happened, oldest first.", EVENT),
        "completion_evidence": nullable(EVIDENCE),
        "next_cursor": NEXT_CURSOR,
    }
)

# ----------------------------------------------------------------- settings

BOOTSTRAP: Final = closed_object(
    {
        "settings": array(
            "The variables of the environment.",
            closed_object(
                {
                    "name": string("Name of the variable."),
                    "effective_value": nullable(
                        string("What is in force, where it may be shown; [configured] or null where not.")
                    ),
                    "configured": boolean("Whether the environment sets it."),
                    "redacted": boolean("Whether its value is kept back."),
                    "mutable": boolean("Always false: it takes a restart."),
                }
            ),
        )
    }
)
SETTING: Final = closed_object(
    {
        "key": word("Its name.", tuple(BY_KEY)),
        "value": {"type": "integer", "description": "What is in force."},
        "minimum": {"type": "integer", "description": "The lowest value."},
        "maximum": {"type": "integer", "description": "The highest value."},
        "restart_required": boolean("Always false: it is in force at once."),
        **_UPDATED,
    }
)
SETTINGS: Final = array("The settings, by key.", SETTING)

# ----------------------------------------------------------------- adapters

ADAPTER: Final = closed_object(
    {
        "adapter_name": word("Its name.", ADAPTER_NAMES),
        "enabled": boolean("Whether it may probe."),
        "configuration": open_object("Its whole configuration; type is its name."),
        **_UPDATED,
    }
)
ADAPTERS: Final = array("The adapters, by name.", ADAPTER)
PROBE: Final = closed_object(
    {
        "status": word("What the probe said.", STATUS_WORDS),
        "latency_ms": integer("How long it took, in milliseconds.", 0),
        "summary": string("The same in a sentence, without a target."),
        "observed_at": timestamp("When it looked."),
        "adapter_version": string("Rises when an adapter judges otherwise than before."),
    }
)

# ---------------------------------------------------------------- workloads

WORKLOADS: Final = array(
    "Both workloads.",
    closed_object(
        {
            "component": word("Which of them.", ("mcp", "scheduler")),
            "desired": word("What it shall be.", ("running", "stopped")),
            "actual": word("What it is.", ("starting", "running", "stopping", "stopped", "failed")),
            "last_error": nullable(string("What went wrong last.")),
            "last_pass_at": nullable(timestamp("End of the scheduler's last pass.")),
            "lag_seconds": nullable(integer("How late the oldest waiting item is.", 0)),
            "backlog": nullable(integer("How many items wait.", 0)),
        }
    ),
)

# ------------------------------------------------------------------ backups

_BACKUP_ID: Final = string("Backup.", format="uuid")
BACKUP: Final = closed_object(
    {
        "id": _BACKUP_ID,
        "file_name": string("Its file in the backup directory."),
        "source": word("Who made it.", [source.value for source in Source]),
        "status": word("What has become of it.", [status.value for status in Status]),
        "sha256": string("Of its file, in lower-case hex."),
        "size_bytes": integer("Of its file.", 1),
        "schema_version": integer("Of the database in it.", 1),
        "created_at": timestamp("When it was made."),
        "verified_at": timestamp("When it last passed every check of a restore."),
        "created_by": string("Actor that made it."),
        "details": open_object("Always empty."),
    }
)
BACKUPS: Final = array("The backups, the newest first.", BACKUP)
JOB: Final = closed_object(
    {
        "kind": word("What for.", get_args(JobKind)),
        "step": word("What it does.", get_args(JobStep)),
        "done_bytes": integer("Bytes that are done.", 0),
        "total_bytes": integer("Of so many; 0 where nobody can tell yet.", 0),
    }
)
_MAINTENANCE: Final = word(
    "Whether the database is open: held is closed until the next start.", get_args(MaintenanceState)
)
RESTORED: Final = closed_object(
    {
        "operation_id": string("Restore.", format="uuid"),
        "backup_id": _BACKUP_ID,
        "restored": boolean("Always true."),
        "rolled_back": boolean("Always false."),
    }
)
RESTORES: Final = closed_object(
    {
        "maintenance": _MAINTENANCE,
        "restore": closed_object(
            {
                "operation_id": string("Restore.", format="uuid"),
                "backup_id": _BACKUP_ID,
                "outcome": word("How it stands.", get_args(RestoreOutcome)),
                "rolled_back": boolean("Whether the former content was put back."),
                "reason": nullable(string("Why it failed, in a sentence.")),
                "pre_restore_backup_id": nullable(string("Backup of the former content.", format="uuid")),
                "phases": array(
                    "What it has reached, in order.",
                    closed_object({"phase": word("Which.", PHASES), "at": timestamp("When.")}),
                ),
                "started_at": timestamp("When it began."),
                "ended_at": nullable(timestamp("When it ended.")),
            },
            description="The latest one.",
        ),
    }
)

# ----------------------------------------------------------------- overview

_COUNT: Final = integer("How many.", 0)
OVERVIEW: Final = closed_object(
    {
        "as_of": timestamp("When it was looked at."),
        "states": closed_object(dict.fromkeys(STATE_WORDS, _COUNT), description="Items by state."),
        "readiness": closed_object(
            dict.fromkeys(READINESS_WORDS, _COUNT),
            description="Active items by readiness, as stored: what nobody has looked at is not due yet.",
        ),
        "agenda": array(
            "What time alone brings in the next 24 hours, in its order.",
            closed_object(
                {
                    "remindi_id": string("Item.", format="uuid"),
                    "project_id": string("Project."),
                    "priority": word("Priority.", PRIORITY_WORDS),
                    "at": timestamp("When."),
                    "happening": word("What.", words(Happening)),
                    "message": string("Beginning of its message."),
                    "message_cut": boolean("Whether the message goes on."),
                }
            ),
            maxItems=AGENDA_ENTRIES,
        ),
        "agenda_cut": boolean("Whether those hours bring more."),
        "daily": array(
            "The last 90 days (UTC), the oldest first.",
            closed_object(
                {
                    "date": string("Day.", format="date"),
                    "created": _COUNT,
                    "due": _COUNT,
                    "completed": _COUNT,
                    "cancelled": _COUNT,
                }
            ),
        ),
        "due_to_done": closed_object(
            {
                "completed": _COUNT,
                "median_seconds": nullable(integer("Half of them were as fast.", 0)),
                "p90_seconds": nullable(integer("Nine of ten were as fast.", 0)),
            },
            description="How long items completed in these days had been due; right to a quarter.",
        ),
        "workloads": WORKLOADS,
        "maintenance": _MAINTENANCE,
        "backups": closed_object(
            {
                "newest": nullable(BACKUP),
                "last_verified": nullable(
                    closed_object(
                        {
                            "id": _BACKUP_ID,
                            "verified_at": timestamp("When it passed every check of a restore."),
                            "age_seconds": integer("How long ago that was.", 0),
                            "items": integer("How many items it held.", 0),
                        }
                    )
                ),
                "next_automatic_at": nullable(timestamp("When the next one is made by itself.")),
                "failure": nullable(
                    closed_object(
                        {
                            "at": timestamp("When an automatic one failed last."),
                            "reason": string("Why, in a sentence."),
                            "next_try_at": timestamp("When it is tried again."),
                        }
                    )
                ),
                "job": nullable(JOB),
            },
            description="The newest backup, the one that was last proven restorable, and what comes next.",
        ),
        "last_calls": closed_object(
            {
                name: nullable(timestamp("When a client called it last, since the start."))
                for name in tools.TOOL_NAMES
            },
            description="Calls over MCP since the start, by tool.",
        ),
    }
)

# -------------------------------------------------------------------- audit

AUDIT: Final = array(
    "The events.",
    closed_object(
        {
            "sequence": integer("Place in the audit: rises, with holes.", 1),
            "event_id": string("UUID of the event."),
            "event_type": string("What was attempted."),
            "actor_id": string("By whom."),
            "request_id": nullable(string("The exchange that it happened in.")),
            "occurred_at": timestamp("When it happened."),
            "outcome": string("What came of it: succeeded, rejected or failed."),
            "details": open_object("What it was about; of a refusal also failure_code."),
        }
    ),
)
