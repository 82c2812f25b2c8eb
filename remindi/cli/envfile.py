"""Env files: KEY=VALUE lines, read literally (no shell, no expansion, no escapes).

A line is blank, a comment that starts with ``#``, or ``NAME=VALUE``, with ``export`` before it if one likes.
A value in single or double quotes is what stands between them; any other value is trimmed and ends before a
``#`` that follows white space.
"""

import re
from pathlib import Path
from typing import Final

from remindi.cli.exits import cause

MAX_BYTES: Final = 65_536
_LINE: Final = re.compile(r"(?:export[ \t]+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(?P<value>.*)")
_QUOTED: Final = re.compile(r"(?P<quote>['\"])(?P<text>.*?)(?P=quote)[ \t]*(?:#.*)?")
_COMMENT: Final = re.compile(r"(?:^|[ \t]+)#.*")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class EnvFileError(Exception):
    """The file cannot be used; the text names file and line, never a value."""


def read_env_file(path: Path) -> dict[str, str]:
    """Read an env file.

    Raises:
        EnvFileError: it cannot be read, is no UTF-8, is larger than 64 KiB, or a line is none of the above.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise EnvFileError(f"{path}: cannot be read: {cause(error)}") from None
    if len(raw) > MAX_BYTES:
        raise EnvFileError(f"{path}: is larger than {MAX_BYTES} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise EnvFileError(f"{path}, line {line}: is not valid UTF-8") from None
    return parse_env_text(text, str(path))


def parse_env_text(text: str, source: str) -> dict[str, str]:
    """Read the text of an env file; ``source`` names it in errors."""
    values: dict[str, str] = {}
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip(" \t\r")
        if not line or line.startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        if found is None or _CONTROL.search(line):
            raise EnvFileError(f"{source}, line {number}: is not NAME=VALUE")
        name = found["name"]
        if name in values:
            raise EnvFileError(f"{source}, line {number}: {name} stands in an earlier line already")
        values[name] = _value(found["value"], f"{source}, line {number}: {name}")
    return values


def _value(text: str, where: str) -> str:
    if not text.startswith(("'", '"')):
        return _COMMENT.sub("", text)
    found = _QUOTED.fullmatch(text)
    if found is None:
        raise EnvFileError(f"{where} has a quote that does not end, or text behind it")
    return found["text"]


def write_value(text: str) -> str:
    """A value as it may stand in an env file.

    Raises:
        ValueError: no way of writing it would be read back.
    """
    for form in (text, f'"{text}"', f"'{text}'"):
        try:
            if parse_env_text(f"X={form}", "")["X"] == text:
                return form
        except EnvFileError:
            continue
    raise ValueError("the value cannot stand in an env file")
