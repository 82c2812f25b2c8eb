"""The query string: parameters as sent, for the readers of ``remindi.inputs.query_strings``."""

from urllib.parse import unquote_to_bytes

from remindi.errors import invalid
from remindi.inputs.failures import pointer
from web.api.answering import Refused
from web.api.facts import Facts


def parameters(facts: Facts) -> list[tuple[str, str]]:
    """Names and values, decoded, in their order; a parameter without a value has an empty one.

    Raises:
        Refused: something is no UTF-8.
    """
    found = []
    for part in facts.query.split(b"&"):
        if not part:
            continue
        name, _, value = part.partition(b"=")
        try:
            found.append((_decoded(name), _decoded(value)))
        except UnicodeDecodeError:
            raise Refused(invalid((pointer((name.decode("ascii", "replace"),)), "format"))) from None
    return found


def _decoded(text: bytes) -> str:
    return unquote_to_bytes(text.replace(b"+", b" ")).decode("utf-8")
