"""Fingerprints: when two mutations are the same request (contract section 9).

The hash covers the normalized request: trimmed text, instants, defaults filled in, object keys sorted; links
and recurrence stand as the arrays that their tuples are. Hashes are stored for weeks, so all of this is a
format: to change it ends the replay of older keys.
"""

import hashlib
import json
from typing import Any

from remindi.evidence import Evidence
from remindi.requests import IdempotencyKey
from remindi.triggers import DEFAULT_POLL_INTERVAL_SECONDS, Condition, Trigger, trigger_type

_canonical = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode


def idempotency(tool: str, key: str, request: dict[str, Any]) -> IdempotencyKey:
    """The key of a mutation with the hash of its normalized request."""
    return IdempotencyKey(tool, key, hashlib.sha256(_canonical(request).encode()).digest())


def trigger_parts(trigger: Trigger) -> list[Any]:
    """A trigger as it counts for equality; the absent poll interval is the default one."""
    if isinstance(trigger, Condition):
        adapter, parameters_json, poll, manual_check_at = trigger
        poll = DEFAULT_POLL_INTERVAL_SECONDS if poll is None else poll
        return [trigger_type(trigger), adapter, json.loads(parameters_json), poll, manual_check_at]
    return [trigger_type(trigger), *trigger]


def evidence_parts(evidence: Evidence) -> list[Any]:
    """Evidence as it counts for equality."""
    metadata = evidence.metadata_json
    return [*evidence[:-1], None if metadata is None else json.loads(metadata)]
