"""The routes of the API as tests walk over them, with a request for each that is well-formed."""

from typing import Any, Final

from tests.fakes.api import Multipart
from web.api.policy import Admission, Operation
from web.api.routes import ROUTES

ITEM: Final = "0190aaaa-bbbb-7ccc-addd-eeeeffff0001"
NAMES: Final = {
    "{id}": ITEM,
    "{key}": "backups.retention_count",
    "{name}": "tcp_reachable",
    "{component:component}": "mcp",
    "{action:action}": "restart",
}
KEY: Final = {"idempotency_key": "key-of-the-tests"}
CHANGE: Final = {**KEY, "expected_version": 1}
TRIGGER: Final = {"type": "at_time", "at": "2020-01-01T00:00:00Z"}
BODIES: Final[dict[tuple[str, str], Any]] = {
    ("POST", "/auth/login"): {"username": "Ada", "password": "correct horse"},
    ("POST", "/auth/reauthenticate"): {"password": "correct horse"},
    ("POST", "/remindi"): {**KEY, "project_id": "p", "message": "m", "trigger": TRIGGER},
    ("POST", "/remindi/check"): {"project_id": "p", "lifecycle_event": "checkpoint"},
    ("PATCH", "/remindi/{id}"): {**CHANGE, "reason": "r", "message": "n"},
    ("POST", "/remindi/{id}/complete"): {
        **CHANGE,
        "evidence": {
            "type": "observation",
            "summary": "It was seen to work.",
            "reference_uri": "https://example.com/1",
            "observed_at": "2026-01-01T00:00:00Z",
        },
    },
    ("POST", "/remindi/{id}/snooze"): {
        **CHANGE,
        "reason": "r",
        "snooze_until": "2027-01-20T00:00:00Z",
    },
    ("POST", "/remindi/{id}/cancel"): {**CHANGE, "reason": "r"},
    ("PATCH", "/settings/{key}"): {"value": 3, "expected_version": 1},
    ("PATCH", "/adapters/{name}"): {
        "enabled": True,
        "expected_version": 1,
        "configuration": {
            "type": "tcp_reachable",
            "aliases": {"x": {"host": "h.test", "port": 1, "allow_private": False}},
        },
    },
    ("POST", "/adapters/{name}/test"): {"alias": "x"},
    ("POST", "/workloads/{component:component}/{action:action}"): {},
    ("POST", "/backups/{id}/restore"): {"confirmation": "RESTORE REMINDI"},
}
UPLOAD: Final = ("POST", "/backups/upload")

OPERATIONS: Final[list[tuple[str, str, Operation]]] = [
    (method, path, operation)
    for path, resource in ROUTES.items()
    for method, operation in resource.operations.items()
]
MUTATIONS: Final = [
    (method, path) for method, path, it in OPERATIONS if it.policy.admission is Admission.MUTATION
]
READS: Final = [(method, path) for method, path, it in OPERATIONS if it.policy.admission is Admission.SESSION]


def concrete(path: str) -> str:
    """A path with a name in the place of each parameter."""
    for parameter, name in NAMES.items():
        path = path.replace(parameter, name)
    return path


def body_of(method: str, path: str) -> Any:
    """A well-formed body, or None where there is none."""
    if (method, path) == UPLOAD:
        return Multipart.of(b"a file")
    return BODIES.get((method, path))
