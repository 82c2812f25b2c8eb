"""Cursors: where the next page goes on, as opaque text that its caller can neither forge nor carry elsewhere.

Contract 5.3. A cursor is a version byte, the position and an HMAC-SHA-256 tag in base64url. The tag also
covers the tool and its normalized filter, so they need no room in the text.
"""

import base64
import binascii
import hashlib
import hmac
import json
import re
import struct
from typing import Any, Final

from remindi import tools
from remindi.errors import Refusal, invalid
from remindi.inputs import Paged
from remindi.requests import CheckPosition, CheckQuery, HistoryQuery, ListPosition, ListQuery, Sort

CURSOR_REFUSED: Final = invalid(("/cursor", "cursor"))

_VERSION: Final = b"\x01"
_TAG_BYTES: Final = hashlib.sha256().digest_size
_KEY_LABEL: Final = b"remindi/cursors/key/1"
_ALPHABET: Final = re.compile(r"[A-Za-z0-9_-]+")
_CHECK: Final = struct.Struct(">qq?qq")
_LIST: Final = struct.Struct(">qqq")
_HISTORY: Final = struct.Struct(">q")


class Cursors:
    """Writes and reads the cursors of one MCP token; a new token ends the old ones.

    Those of one content of the database are none of another: see ``of``.

    The ``next_*`` methods give an answer's ``next_cursor``; the ``resume_*`` methods put a request's cursor
    back into its query. No text makes a reading method raise: what is no cursor of this query is refused
    with VALIDATION_ERROR, ``/cursor``, ``cursor``.
    """

    __slots__ = ("_key",)

    def __init__(self, token: str) -> None:
        """Derive the key from the MCP token; the token itself is not kept."""
        self._key = hmac.digest(token.encode(), _KEY_LABEL, "sha256")

    def of(self, generation: bytes) -> "Cursors":
        """The cursors of one content of the database; a restore ends them (contract 15.3).

        These same ones where no generation is known.
        """
        if not generation:
            return self
        cursors = object.__new__(Cursors)
        cursors._key = hmac.digest(self._key, generation, "sha256")
        return cursors

    def next_check(self, query: CheckQuery, position: CheckPosition | None) -> str | None:
        """``next_cursor`` of a check's page; null on the last one."""
        if position is None:
            return None
        return self._seal(tools.CHECK, _check_filter(query), _CHECK.pack(*position))

    def next_list(self, query: ListQuery, position: ListPosition | None) -> str | None:
        """``next_cursor`` of a list's page; null on the last one."""
        if position is None:
            return None
        return self._seal(tools.LIST, _list_filter(query), _LIST.pack(*position))

    def next_history(self, query: HistoryQuery, sequence: int | None) -> str | None:
        """``next_cursor`` of a history's page, which ended at ``sequence``; null on the last one."""
        if sequence is None:
            return None
        return self._seal(tools.HISTORY, _history_filter(query), _HISTORY.pack(sequence))

    def resume_check(self, paged: Paged[CheckQuery]) -> CheckQuery | Refusal:
        """The check's query with the position that its cursor holds, if it brings one."""
        query, text = paged
        if text is None:
            return query
        position = self._open(tools.CHECK, _check_filter(query), text, _CHECK)
        return CURSOR_REFUSED if position is None else query._replace(after=CheckPosition(*position))

    def resume_list(self, paged: Paged[ListQuery]) -> ListQuery | Refusal:
        """The list's query with the position that its cursor holds, if it brings one."""
        query, text = paged
        if text is None:
            return query
        position = self._open(tools.LIST, _list_filter(query), text, _LIST)
        return CURSOR_REFUSED if position is None else query._replace(after=ListPosition(*position))

    def resume_history(self, paged: Paged[HistoryQuery]) -> HistoryQuery | Refusal:
        """The history's query; a cursor wins over ``after_sequence`` (contract 5.2)."""
        query, text = paged
        if text is None:
            return query
        position = self._open(tools.HISTORY, _history_filter(query), text, _HISTORY)
        return CURSOR_REFUSED if position is None else query._replace(after_sequence=position[0])

    def _seal(self, tool: str, scope: list[Any], packed: bytes) -> str:
        body = _VERSION + packed
        return base64.urlsafe_b64encode(body + self._tag(tool, scope, body)).rstrip(b"=").decode("ascii")

    def _open(self, tool: str, scope: list[Any], text: str, layout: struct.Struct) -> tuple[Any, ...] | None:
        raw = _decoded(text)
        if raw is None or len(raw) != len(_VERSION) + layout.size + _TAG_BYTES:
            return None
        body, tag = raw[:-_TAG_BYTES], raw[-_TAG_BYTES:]
        # APPSEC: the tag is compared first and in constant time; nothing else of the text is read before.
        if not hmac.compare_digest(tag, self._tag(tool, scope, body)) or body[:1] != _VERSION:
            return None
        return layout.unpack(body[1:])

    def _tag(self, tool: str, scope: list[Any], body: bytes) -> bytes:
        # JSON keeps the parts apart: no filter text can run into its neighbour or into the position.
        bound = json.dumps([tool, scope, body.hex()], separators=(",", ":")).encode()
        return hmac.digest(self._key, bound, "sha256")


def _decoded(text: str) -> bytes | None:
    """The bytes of unpadded base64url; of several spellings of the same bytes only one counts."""
    if _ALPHABET.fullmatch(text) is None:
        return None
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        return None
    return raw if base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii") == text else None


def _check_filter(query: CheckQuery) -> list[Any]:
    context = query.context
    return [
        query.project_id,
        query.task_id,
        int(context.lifecycle_event),
        context.session_id,
        context.task_lineage_id,
        sorted(context.active_goal_ids),
        query.include_scheduled,
    ]


def _list_filter(query: ListQuery) -> list[Any]:
    tools_own = [
        query.project_id,
        query.task_id,
        None if query.remindi_id is None else query.remindi_id.hex(),
        sorted(set(query.states)),
        sorted(set(query.trigger_types)),
        query.linked_goal_id,
        query.linked_memory_hash,
    ]
    # NOTE: what the tool can ask for is bound as the tool binds it, so that a cursor serves both doors.
    if query.text is None and query.sort == Sort.CREATED:
        return tools_own
    return [*tools_own, query.text, int(query.sort)]


def _history_filter(query: HistoryQuery) -> list[Any]:
    return [query.remindi_id.hex(), sorted(set(query.event_types))]
