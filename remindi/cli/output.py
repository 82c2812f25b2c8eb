"""Standard output and standard error as every command has them: no write to them ever fails."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, cast


class Output:
    """A text stream that swallows what nobody takes: the command goes on, and ends as it would have.

    Of a reader that has enough (``| head``) nobody need hear; any other loss is kept, to be told once.
    """

    def __init__(self, stream: TextIO) -> None:
        """Write to a stream."""
        self._stream = stream
        self.lost: OSError | None = None
        """Why what was written did not arrive, when that is to be told."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write (``TextIO``)."""
        try:
            return self._stream.write(text)
        except OSError as error:
            self._lose(error)
            return len(text)

    def flush(self) -> None:
        """Write what waits (``TextIO``)."""
        try:
            self._stream.flush()
        except OSError as error:
            self._lose(error)

    def _lose(self, error: OSError) -> None:
        if not isinstance(error, BrokenPipeError):
            self.lost = error
        # What is buffered is written once more when the interpreter ends.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)


@contextmanager
def guarded() -> Iterator[Output]:
    """Guard standard output, which is given, and standard error; all is written when the block has ended."""
    streams = sys.stdout, sys.stderr
    out, err = (Output(_nowhere() if stream is None else stream) for stream in streams)
    sys.stdout, sys.stderr = cast(TextIO, out), cast(TextIO, err)
    try:
        yield out
    finally:
        out.flush()
        err.flush()
        sys.stdout, sys.stderr = streams


def _nowhere() -> TextIO:
    """In place of the stream that Python does not make of a descriptor that was closed when it started."""
    return Path(os.devnull).open("w", encoding="utf-8")
