"""Bodies of requests, judged when their turn comes (contract 11.1, 2.3)."""

from typing import Any, Final

from remindi.errors import ErrorCode, Refusal, invalid
from web import strict_json
from web.api.answering import Refused
from web.api.facts import BodyFault, Facts

_TOO_LARGE: Final = Refusal(ErrorCode.LIMIT_EXCEEDED)


def decoded(facts: Facts) -> Any:
    """The JSON value of a body.

    Raises:
        Refused: it is too large, came too slowly, or is none.
    """
    _refuse_faults(facts)
    if media_type(facts) != "application/json":
        raise Refused(invalid(("", "media_type")))
    try:
        return strict_json.parse(facts.body)
    except strict_json.JsonError:
        raise Refused(invalid(("", "json"))) from None


def refuse_any(facts: Facts) -> None:
    """Refuse a body where none is known.

    Raises:
        Refused: there is one.
    """
    _refuse_faults(facts)
    if facts.body:
        raise Refused(invalid(("", "unknown_field")))


def media_type(facts: Facts) -> str:
    """The media type of a body in lower case, without parameters; empty without one."""
    return (facts.one(b"content-type") or "").partition(";")[0].strip().lower()


def _refuse_faults(facts: Facts) -> None:
    if facts.fault is BodyFault.TOO_LARGE:
        raise Refused(_TOO_LARGE)
    if facts.fault is BodyFault.TOO_SLOW:
        raise Refused(invalid(("", "json")))
