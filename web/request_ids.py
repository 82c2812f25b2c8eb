"""Request ids: one per exchange, in the answer, the envelope, the event and the log (contract 11.1)."""

import re
from typing import Final

from actors.system import Identifiers
from remindi.identifiers import uuid_text

REQUEST_ID_HEADER: Final = b"x-request-id"
_KEPT: Final = re.compile(rb"[A-Za-z0-9_-]{1,128}")


def choose_request_id(given: bytes | None, ids: Identifiers) -> str:
    """The id that a client gave, when it is well-formed; else a new UUIDv7.

    Args:
        given: value of the one ``X-Request-Id`` header; null when there was none, or more than one.
        ids: of the thread that asks.
    """
    if given is not None and _KEPT.fullmatch(given) is not None:
        return given.decode("ascii")
    return uuid_text(ids.next())
