"""Errors: the table of codes, and refusals as values (contract section 3).

A ``Refusal`` is an expected answer and travels in reply types; exceptions are for bugs and broken
infrastructure only.
"""

from enum import Enum
from typing import Final, Literal, NamedTuple, get_args


class ErrorCode(Enum):
    """One code of contract 3.1 with its fixed sentence, retryability and HTTP status."""

    message: str
    retryable: bool
    http_status: int

    def __new__(cls, code: str, message: str, retryable: bool, http_status: int) -> "ErrorCode":
        """Make the member; its value is the code as it stands on the wire."""
        member = object.__new__(cls)
        member._value_ = code
        member.message = message
        member.retryable = retryable
        member.http_status = http_status
        return member

    VALIDATION_ERROR = ("VALIDATION_ERROR", "The request breaks a rule; see details.errors.", False, 400)
    UNAUTHENTICATED = ("UNAUTHENTICATED", "Sign in first.", False, 401)
    FORBIDDEN = ("FORBIDDEN", "This Host is not admitted; see REMINDI_HTTP_ALLOWED_HOSTS.", False, 403)
    CSRF_REJECTED = ("CSRF_REJECTED", "The origin or the CSRF token was not accepted.", False, 403)
    LIMIT_EXCEEDED = ("LIMIT_EXCEEDED", "A limit was exceeded.", False, 413)
    NOT_FOUND = ("NOT_FOUND", "There is no such thing here.", False, 404)
    INVALID_STATE = ("INVALID_STATE", "The item's state does not allow this.", False, 409)
    VERSION_CONFLICT = ("VERSION_CONFLICT", "It changed since it was read; read it again.", True, 409)
    IDEMPOTENCY_KEY_REUSED = (
        "IDEMPOTENCY_KEY_REUSED",
        "This idempotency key was used for another request.",
        False,
        409,
    )
    DATABASE_BUSY = ("DATABASE_BUSY", "The database is busy; try again.", True, 503)
    MAINTENANCE_ACTIVE = ("MAINTENANCE_ACTIVE", "The service is starting or under maintenance.", True, 503)
    ADAPTER_NOT_FOUND = ("ADAPTER_NOT_FOUND", "There is no adapter of this name.", False, 404)
    ADAPTER_DISABLED = ("ADAPTER_DISABLED", "The adapter is disabled; give manual_check_at.", False, 409)
    ADAPTER_TIMEOUT = ("ADAPTER_TIMEOUT", "The adapter took too long.", True, 504)
    ADAPTER_ERROR = ("ADAPTER_ERROR", "The adapter failed.", False, 502)
    REAUTHENTICATION_REQUIRED = ("REAUTHENTICATION_REQUIRED", "Confirm your password first.", False, 401)
    WORKLOAD_CONFLICT = ("WORKLOAD_CONFLICT", "Another transition is running; try again.", True, 409)
    BACKUP_INVALID = ("BACKUP_INVALID", "The backup failed a check.", False, 400)
    RESTORE_FAILED = ("RESTORE_FAILED", "The restore failed; the former database is back.", False, 500)
    INTERNAL_ERROR = ("INTERNAL_ERROR", "Something went wrong; the log knows the request id.", False, 500)


Reason = Literal[
    "required",
    "empty_update",
    "unknown_field",
    "null_not_allowed",
    "type",
    "enum",
    "format",
    "blank",
    "too_short",
    "too_long",
    "too_small",
    "too_large",
    "too_many",
    "duplicate",
    "control_character",
    "bare_claim",
    "needs_reference",
    "credentials",
    "host_missing",
    "not_in_future",
    "too_far_ahead",
    "pair_mismatch",
    "end_before_start",
    "goal_link",
    "parameters",
    "unknown_alias",
    "cursor",
    "json",
    "media_type",
    "method",
    "confirmation",
    "unknown_setting",
    "lease_not_above_twice_poll",
]
REASONS: Final[tuple[Reason, ...]] = get_args(Reason)
MAX_FIELD_ERRORS: Final = 20
MAX_POINTER_CHARACTERS: Final = 128


class FieldError(NamedTuple):
    """Where and why a value was refused (contract 3.2); never the value itself."""

    field: str
    """JSON pointer (RFC 6901) into the arguments or body; empty for the whole."""
    reason: Reason


class Refusal(NamedTuple):
    """An expected refusal: a code with what its details may carry."""

    code: ErrorCode
    errors: tuple[FieldError, ...] = ()
    """At least one for VALIDATION_ERROR, else empty."""
    current_version: int | None = None
    """The stored version, for VERSION_CONFLICT."""
    reason: str | None = None
    """Why the service is held closed, for MAINTENANCE_ACTIVE; what is wrong, for backups and restores."""


def invalid(*errors: tuple[str, Reason]) -> Refusal:
    """A VALIDATION_ERROR from ``(pointer, reason)`` pairs, cut to the published bounds."""
    cut = tuple(FieldError(field[:MAX_POINTER_CHARACTERS], reason) for field, reason in errors)
    return Refusal(ErrorCode.VALIDATION_ERROR, cut[:MAX_FIELD_ERRORS])


NOT_FOUND: Final = Refusal(ErrorCode.NOT_FOUND)
INVALID_STATE: Final = Refusal(ErrorCode.INVALID_STATE)
