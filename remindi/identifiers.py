"""Identifiers: the UUID forms taken in, the one form given out, and UUIDv7 made of parts (RFC 9562)."""

import re
from functools import lru_cache
from typing import Final

_HEX: Final = r"(?:[0-9a-fA-F]{32}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})"
UUID_PATTERN: Final = rf"^(?:[uU][rR][nN]:[uU][uU][iI][dD]:{_HEX}|\{{{_HEX}\}}|{_HEX})$"
"""JSON Schema pattern of every UUID spelling that contract 2.3 takes."""
_UUID: Final = re.compile(UUID_PATTERN)
COUNTER_BITS: Final = 20
"""Bits of the counter that keeps UUIDs of one millisecond in order."""


def parse_uuid(text: str) -> bytes:
    """Read a UUID in any spelling of contract 2.3 into its 16 bytes.

    Raises:
        ValueError: the text is no UUID.
    """
    if _UUID.match(text) is None or text[-1] == "\n":
        raise ValueError("not a UUID")
    return bytes.fromhex(text.rpartition(":")[2].strip("{}").replace("-", ""))


@lru_cache(maxsize=16_384)
def uuid_text(identifier: bytes) -> str:
    """Write 16 bytes as a lower-case dashed UUID."""
    text = identifier.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def uuid7(milliseconds: int, counter: int, tail: int) -> bytes:
    """Make a UUIDv7 whose order is that of ``(milliseconds, counter)``.

    Args:
        milliseconds: 48-bit Unix time.
        counter: 20 bits; rises within a millisecond (RFC 9562, 6.2 method 1).
        tail: 54 random bits.
    """
    high = (milliseconds << 16) | 0x7000 | (counter >> 8)
    low = (0b10 << 62) | ((counter & 0xFF) << 54) | tail
    return ((high << 64) | low).to_bytes(16, "big")


def uuid7_order(identifier: bytes) -> tuple[int, int]:
    """The ``(milliseconds, counter)`` that ``uuid7`` put into an identifier."""
    value = int.from_bytes(identifier, "big")
    return value >> 80, ((value >> 64 & 0xFFF) << 8) | (value >> 54 & 0xFF)
