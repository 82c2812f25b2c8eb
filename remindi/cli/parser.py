"""The parser of every command: how faults are told, and the kinds of values that several commands take."""

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from remindi.cli.durations import DurationRefused, read_duration
from remindi.cli.exits import USAGE

T = TypeVar("T")

Subparsers = argparse._SubParsersAction  # noqa: SLF001 - argparse gives the type no public name


class Parser(argparse.ArgumentParser):
    """An argument parser that takes no abbreviations and names the fault instead of the whole usage."""

    def __init__(self, **options: Any) -> None:
        """Take what ``ArgumentParser`` takes."""
        super().__init__(allow_abbrev=False, **options)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Leave nothing unread to the parser above, which would point to its own help."""
        known, unread = super().parse_known_args(args, namespace)
        if unread:
            self.error(f"unrecognized arguments: {' '.join(unread)}")
        return known, unread

    def error(self, message: str) -> NoReturn:
        """End with the usage code; say what is wrong and where help is."""
        self.exit(USAGE, f"{self.prog}: {message}\nTry '{self.prog} --help'.\n")


def made(kind: type[T], given: argparse.Namespace) -> T:
    """Arguments of a command, a dataclass, out of the options of the same names."""
    assert dataclasses.is_dataclass(kind)
    return kind(**{field.name: getattr(given, field.name) for field in dataclasses.fields(kind)})


def file(text: str) -> Path:
    """A path."""
    if not text:
        raise argparse.ArgumentTypeError("must name a file")
    return Path(text)


def port(text: str) -> int:
    """A port; 0 lets the system choose."""
    if not text.isdecimal() or not text.isascii() or int(text) > 65_535:
        raise argparse.ArgumentTypeError("must be a number from 0 to 65535")
    return int(text)


def count(text: str) -> int:
    """A whole number from 1 on."""
    if not text.isdecimal() or not text.isascii() or len(text) > 18 or int(text) < 1:
        raise argparse.ArgumentTypeError("must be a whole number from 1 on")
    return int(text)


def whole(text: str) -> int:
    """A whole number; what reads it knows its bounds."""
    digits = text.removeprefix("-")
    if not digits.isdecimal() or not digits.isascii() or len(digits) > 18:
        raise argparse.ArgumentTypeError("must be a whole number")
    return int(text)


def duration(text: str) -> int:
    """Seconds of a duration."""
    try:
        return read_duration(text)
    except DurationRefused as refused:
        raise argparse.ArgumentTypeError(str(refused)) from None
