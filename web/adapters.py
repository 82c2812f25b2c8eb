"""Adapters as an owner sees them: listed, changed whole, tried; for every door (contract 7.3, 11.9)."""

from typing import Any, Final, NamedTuple

from actors.failures import unrefused
from actors.messages.probes import CheckConfiguration, NotProbed, RunProbe
from actors.messages.readers import GetControl, ListAdapters, ProbeTarget
from actors.messages.writer import RecordAudit, UpdateAdapter
from remindi import audit
from remindi.adapters import ADAPTER_VERSION, AdapterRow, FileExistsConfiguration, parameters_of_alias
from remindi.errors import MAX_FIELD_ERRORS, ErrorCode, Refusal, invalid
from remindi.events import Caller
from remindi.inputs.adapters import AdapterUpdate, read_adapter_update
from remindi.inputs.failures import pointer
from remindi.items import ConditionStatus
from remindi.settings import ADAPTER_TIMEOUT_SECONDS
from remindi.triggers import Condition
from web.door import POOL_SECONDS, READER_SECONDS, WRITER_SECONDS, Door

NO_TURN: Final = "Too many probes were running; nobody looked."
_NOT_FOUND: Final = Refusal(ErrorCode.ADAPTER_NOT_FOUND)


class Tried(NamedTuple):
    """What a probe of one alias said (contract 7.4)."""

    status: ConditionStatus
    latency_ms: int
    summary: str
    observed_at: int
    adapter_version: str


async def list_adapters(door: Door, caller: Caller) -> tuple[AdapterRow, ...]:
    """The four, by name."""
    return await door.reader.acall(ListAdapters(caller=caller), timeout=READER_SECONDS)


async def get_adapter(door: Door, name: str, caller: Caller) -> AdapterRow | Refusal:
    """One of them, or ADAPTER_NOT_FOUND."""
    rows = await list_adapters(door, caller)
    return next((row for row in rows if row.name == name), _NOT_FOUND)


async def update_adapter(door: Door, name: str, body: Any, caller: Caller) -> AdapterRow | Refusal:
    """Store an adapter whole; in force when this answers. Every refusal is audited.

    Args:
        door: whom to ask.
        name: of the adapter, as the caller gave it.
        body: a decoded JSON value.
        caller: who asks.

    Returns:
        The new row, or the refusal in the order of contract 11.9.

    Raises:
        ActorError: somebody gave no answer.
        DatabaseRefused: the database stayed locked.
    """
    update = read_adapter_update(name, body)
    refused = update if isinstance(update, Refusal) else await _outside_fault(door, update, caller)
    if refused is not None:
        await _record(door, name, refused, caller)
        return refused
    assert isinstance(update, AdapterUpdate)
    return await door.writer.acall(UpdateAdapter(caller=caller, **update._asdict()), timeout=WRITER_SECONDS)


async def try_alias(door: Door, name: str, alias: str, caller: Caller) -> Tried | Refusal:
    """Probe one alias, once; nothing is stored.

    Returns:
        What the probe said, ADAPTER_NOT_FOUND, or VALIDATION_ERROR (``/alias``, ``unknown_alias``).

    Raises:
        ActorError: somebody gave no answer.
    """
    control = await door.reader.acall(GetControl(caller=caller), timeout=READER_SECONDS)
    adapter = control.adapters.get(name)
    if adapter is None:
        return _NOT_FOUND
    parameters = parameters_of_alias(adapter.configuration, alias)
    if parameters is None:
        return invalid(("/alias", "unknown_alias"))
    target = ProbeTarget(
        key=0, version=0, condition=Condition(name, parameters, None, None), next_evaluation_at=0
    )
    seconds = control.settings[ADAPTER_TIMEOUT_SECONDS]
    answer = await door.probes.acall(
        RunProbe(caller=caller, target=target, start_within=seconds), timeout=2 * seconds + POOL_SECONDS
    )
    if isinstance(answer, NotProbed):
        return Tried(ConditionStatus.UNKNOWN, 0, NO_TURN, door.clock.now(), ADAPTER_VERSION)
    return Tried(answer.status, answer.latency_ms, answer.summary, answer.observed_at, answer.adapter_version)


async def _outside_fault(door: Door, update: AdapterUpdate, caller: Caller) -> Refusal | None:
    """What only a look at the file system tells of a configuration.

    What stands in the stored one is not held against it again: a root that vanished later stops no edit.
    """
    wanted = update.configuration
    if not isinstance(wanted, FileExistsConfiguration):
        return None
    control = await door.reader.acall(GetControl(caller=caller), timeout=READER_SECONDS)
    adapter = control.adapters.get(update.name)
    stored = None if adapter is None else adapter.configuration
    if wanted == stored:
        return None
    refused = await door.probes.acall(
        CheckConfiguration(caller=caller, configuration=wanted),
        timeout=2 * control.settings[ADAPTER_TIMEOUT_SECONDS] + POOL_SECONDS,
    )
    if refused is None or len(refused.errors) >= MAX_FIELD_ERRORS:
        return refused
    known = _places_kept(wanted, stored) if isinstance(stored, FileExistsConfiguration) else frozenset()
    errors = tuple(error for error in refused.errors if error.field not in known)
    return refused._replace(errors=errors) if errors else None


def _places_kept(wanted: FileExistsConfiguration, stored: FileExistsConfiguration) -> frozenset[str]:
    """Pointers to the roots and aliases that stand in the stored configuration already."""
    roots = [str(index) for index, root in enumerate(wanted.roots) if root in stored.roots]
    aliases = [alias for alias, path in wanted.aliases.items() if stored.aliases.get(alias) == path]
    return frozenset(
        pointer(("configuration", kind, step))
        for kind, steps in (("roots", roots), ("aliases", aliases))
        for step in steps
    )


async def _record(door: Door, name: str, refused: Refusal, caller: Caller) -> None:
    details = audit.about_adapter(name) | {"failure_code": refused.code.value}
    message = RecordAudit(
        caller=caller,
        event_type=audit.ADAPTER_CONFIG_UPDATED,
        outcome=audit.REJECTED,
        details=tuple(details.items()),
    )
    unrefused(await door.writer.acall(message, timeout=WRITER_SECONDS))
