"""Logs: one JSON object per line on standard output, written beside the work (contract 17.4).

Lines go through a bounded buffer to a thread of their own: a slow, blocked or closed standard output costs
lines and nothing else. What was lost is counted in a line of its own.
"""

import json
import logging
import os
import sys
import threading
import time
import traceback
from collections import deque
from types import TracebackType
from typing import Any, Final

from pydantic_core import PydanticSerializationError, to_json

from remindi.instants import stamp
from remindi.logfilter import TRACE, LogFilter

MAX_WAITING_BYTES: Final = 4_194_304
"""Lines that may wait for standard output."""
MAX_WRITE_BYTES: Final = 65_536
GATHER_SECONDS: Final = 0.01
"""How long a first line waits for others, so that a busy service does not switch threads for each line."""
MAX_FRAMES: Final = 12
_STDOUT: Final = 1
MAX_TEXT_CHARACTERS: Final = 2_000
"""A longer text in a line is cut, and says so."""

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_RESERVED: Final = frozenset({"time", "level", "target"})
_LEVEL_WORDS: Final = {
    TRACE: "trace",
    logging.DEBUG: "debug",
    logging.INFO: "info",
    logging.WARNING: "warn",
    logging.ERROR: "error",
    logging.CRITICAL: "error",
}
_QUIET: Final = ("mcp", "uvicorn", "pykka", "asyncio", "urllib3")
"""Libraries whose lines below a warning may hold what clients sent; no filter brings those out."""
_TELLING: Final = (OSError, ImportError, AttributeError, TypeError, NameError)
_OURS: Final = ("remindi", "actors", "web", "apsw")
"""Whose exceptions speak of the fault alone. The text of any other may quote what it failed on."""


def configure(log_filter: LogFilter) -> "LineHandler":
    """Send every log line of the process to standard output, as the filter lets through.

    Returns:
        The handler; close it as the last act of the process, so that no line is lost.
    """
    logging.addLevelName(TRACE, "TRACE")
    # Python has no stream for a standard output that was closed when it started.
    handler = LineHandler(Outlet(_STDOUT if sys.stdout is None else sys.stdout.fileno()))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(log_filter.level)
    for name, level in log_filter.targets:
        logging.getLogger(name).setLevel(level)
    for name in _QUIET:
        logger = logging.getLogger(name)
        logger.setLevel(max(logger.getEffectiveLevel(), logging.WARNING))
    # PERF: our lines name no thread, process or place in the code, so no record looks them up.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging._srcfile = None  # noqa: SLF001 - the way that the logging HOWTO names ("Optimization")
    # A fault inside logging must not print tracebacks between the lines.
    logging.raiseExceptions = False
    logging.captureWarnings(True)
    sys.excepthook = _log_uncaught
    threading.excepthook = _log_uncaught_in_thread
    return handler


class Outlet:
    """Writes lines to a descriptor on its own thread; never blocks and never fails whoever brings them."""

    def __init__(self, descriptor: int) -> None:
        """Start the thread."""
        self._descriptor = descriptor
        self._lines: deque[bytes] = deque()
        self._waiting = 0
        self._dropped = 0
        self._lock = threading.Lock()
        self._brought = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def put(self, line: bytes) -> None:
        """Take a line, newline included; it is dropped and counted when too much waits already."""
        with self._lock:
            if self._waiting + len(line) > MAX_WAITING_BYTES:
                self._dropped += 1
                return
            self._lines.append(line)
            self._waiting += len(line)
        # PERF: an event that is set costs a third of one that is set anew.
        if not self._brought.is_set():
            self._brought.set()

    def close(self, timeout: float) -> None:
        """Write what waits, for at most ``timeout`` seconds, and end."""
        self._closing.set()
        self._brought.set()
        self._thread.join(timeout)

    def _run(self) -> None:
        while True:
            self._brought.wait()
            self._closing.wait(GATHER_SECONDS)
            self._brought.clear()
            # Looked at after the clearing: a close that comes later sets the other event again.
            closing = self._closing.is_set()
            while batch := self._next_batch():
                self._write(batch)
            if closing:
                return

    def _next_batch(self) -> bytes:
        with self._lock:
            parts: list[bytes] = []
            size = 0
            while self._lines and size < MAX_WRITE_BYTES:
                parts.append(self._lines.popleft())
                size += len(parts[-1])
            self._waiting -= size
            if self._dropped and not self._lines:
                parts.append(_dropped_line(self._dropped))
                self._dropped = 0
        return b"".join(parts)

    def _write(self, batch: bytes) -> None:
        left = memoryview(batch)
        while left:
            try:
                left = left[os.write(self._descriptor, left) :]
            except BlockingIOError:
                # Somebody else made the descriptor non-blocking; there is room again soon.
                time.sleep(0.01)
            except OSError:
                # Closed, or the disk is full: these lines are lost, later ones may not be.
                return


class LineHandler(logging.Handler):
    """Makes each record one line for an outlet."""

    def __init__(self, outlet: Outlet) -> None:
        """Make the handler of an outlet."""
        super().__init__()
        self._outlet = outlet

    def createLock(self) -> None:  # noqa: N802 - the name is the base class's
        """Have no lock: a line is made without shared state, and the outlet has its own."""
        self.lock = None

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; whatever is wrong with it, there is a line and no exception."""
        try:
            line = render(record)
        except Exception as error:
            line = to_json(
                {
                    "time": stamp(int(record.created * 1_000)),
                    "level": "error",
                    "target": record.name,
                    "message": f"a log line could not be made: {type(error).__name__}",
                }
            )
        self._outlet.put(line + b"\n")

    def finish(self, timeout: float = 1.0) -> None:
        """Write what still waits; the process is about to end."""
        self._outlet.close(timeout)


def render(record: logging.LogRecord) -> bytes:
    """A record as a JSON object in one line: time, level, target, message, then its own fields."""
    line: dict[str, Any] = {
        "time": stamp(int(record.created * 1_000)),
        "level": _level_word(record.levelno),
        "target": record.name,
        "message": _cut(record.getMessage()),
    }
    for name, value in record.__dict__.items():
        if name not in _STANDARD:
            line[f"{name}_" if name in _RESERVED else name] = value
    if record.exc_info and record.exc_info[1] is not None:
        line["exception"] = describe(record.exc_info[1])
    try:
        return to_json(line)
    except (PydanticSerializationError, ValueError, RecursionError):
        return to_json({name: _safe(value) for name, value in line.items()})


def describe(error: BaseException) -> dict[str, Any]:
    """An exception as fields: its type, its text, and the innermost frames as ``file:line function``.

    The text is there only where it cannot hold an item's content (contract 17.4).
    """
    frames = traceback.extract_tb(error.__traceback__)
    told: dict[str, Any] = {
        "type": type(error).__name__,
        "message": _fault_of(error),
        "trace": [f"{_short(frame.filename)}:{frame.lineno} {frame.name}" for frame in frames[-MAX_FRAMES:]],
    }
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        told["cause"] = {"type": type(cause).__name__, "message": _fault_of(cause)}
    return told


def _fault_of(error: BaseException) -> str | None:
    if isinstance(error, _TELLING) or type(error).__module__.partition(".")[0] in _OURS:
        return _cut(_text_of(error))
    return None


def _level_word(level: int) -> str:
    return _LEVEL_WORDS.get(level) or next(
        (word for bound, word in sorted(_LEVEL_WORDS.items(), reverse=True) if level >= bound), "trace"
    )


def _cut(text: str) -> str:
    # Lone surrogates have no UTF-8 form; they are shown as escapes.
    text = text.encode("utf-8", "backslashreplace").decode("utf-8") if not text.isascii() else text
    if len(text) <= MAX_TEXT_CHARACTERS:
        return text
    return f"{text[:MAX_TEXT_CHARACTERS]}... ({len(text) - MAX_TEXT_CHARACTERS} characters more)"


def _safe(value: Any) -> Any:
    """A value that JSON can hold, for one that it cannot."""
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, dict | list | tuple):
        try:
            return json.loads(json.dumps(value, default=_text_of))
        except (TypeError, ValueError, RecursionError):
            return f"<{type(value).__name__}>"
    if isinstance(value, bool | int | float | None):
        return value
    return _cut(_text_of(value))


def _text_of(value: object) -> str:
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__}>"


def _short(path: str) -> str:
    return "/".join(path.rsplit("/", 2)[-2:])


def _dropped_line(lines: int) -> bytes:
    return (
        to_json(
            {
                "time": stamp(time.time_ns() // 1_000_000),
                "level": "warn",
                "target": "remindi.logs",
                "message": "log lines were dropped: standard output did not take them in time",
                "lines": lines,
            }
        )
        + b"\n"
    )


def _log_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    logging.getLogger("remindi").critical("an uncaught exception", exc_info=(kind, error, trace))


def _log_uncaught_in_thread(arguments: threading.ExceptHookArgs) -> None:
    name = "" if arguments.thread is None else arguments.thread.name
    error = arguments.exc_value
    logging.getLogger("remindi").critical(
        "an uncaught exception in a thread", exc_info=error, extra={"thread_name": name}
    )
