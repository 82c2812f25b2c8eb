"""Idempotency: what a key stood for and what was answered (contract section 9)."""

import hashlib
import json
from typing import Final, NamedTuple

import apsw

from remindi.answers import Mutated
from remindi.errors import ErrorCode, Refusal
from remindi.events import Caller
from remindi.instants import MS_PER_DAY
from remindi.items import State
from remindi.requests import IdempotencyKey

REUSED: Final = Refusal(ErrorCode.IDEMPOTENCY_KEY_REUSED)
_LOOKUP_BITS: Final = 63


class Grace(NamedTuple):
    """The grace of an add: its default is a live setting, so it is compared apart from the rest."""

    seconds: int
    given: bool


class Known(NamedTuple):
    """The place of a key in the table, for finding it and for storing it."""

    lookup: int
    scope: bytes


def place(caller: Caller, key: IdempotencyKey) -> Known:
    """Where the key of an actor for a tool lies."""
    scope = hashlib.sha256(f"{caller.actor_id}\n{key.tool}\n{key.key}".encode()).digest()
    return Known(int.from_bytes(scope[:8], "big") >> (64 - _LOOKUP_BITS), scope)


def stored_answer(
    connection: apsw.Connection, known: Known, key: IdempotencyKey, grace: Grace | None, expired_before: int
) -> Mutated | Refusal | None:
    """The answer given under this key, a refusal when it stood for something else, None when it is free."""
    for scope, request, seconds, given, answer in connection.execute(
        "SELECT scope, request, grace, grace_given, answer FROM idempotency"
        " WHERE lookup = ? AND created_at > ? ORDER BY key DESC",
        (known.lookup, expired_before),
    ):
        if scope != known.scope:
            continue
        same_grace = grace is None or grace.seconds == seconds or not (grace.given or given)
        if request != key.request_hash or not same_grace:
            return REUSED
        identifier, state, version, warnings = json.loads(answer)
        return Mutated(bytes.fromhex(identifier), State(state), version, tuple(warnings))
    return None


def store_answer(
    connection: apsw.Connection,
    known: Known,
    key: IdempotencyKey,
    grace: Grace | None,
    now: int,
    answer: Mutated,
) -> None:
    """Remember an answer, in the transaction of its mutation."""
    text = json.dumps([answer.id.hex(), answer.state, answer.version, answer.warnings], ensure_ascii=False)
    connection.execute(
        "INSERT INTO idempotency (lookup, scope, request, grace, grace_given, created_at, answer)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            known.lookup,
            known.scope,
            key.request_hash,
            None if grace is None else grace.seconds,
            0 if grace is None else int(grace.given),
            now,
            text,
        ),
    )


def expiry(now: int, retention_days: int) -> int:
    """The instant at or before which a key counts as absent."""
    return now - retention_days * MS_PER_DAY


def purge(connection: apsw.Connection, expired_before: int, limit: int) -> int:
    """Drop expired rows from the oldest on; answers how many went."""
    connection.execute(
        "DELETE FROM idempotency WHERE key IN (SELECT key FROM idempotency INDEXED BY idempotency_created"
        " WHERE created_at <= ? ORDER BY created_at LIMIT ?)",
        (expired_before, limit),
    )
    return connection.changes()
