"""Log lines: one JSON object each, bounded, and never a burden to whoever writes them (contract 17.4)."""

import json
import logging
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from remindi.cli.logs import MAX_FRAMES, MAX_TEXT_CHARACTERS, MAX_WAITING_BYTES, LineHandler, Outlet, render

ROOT = Path(__file__).parents[2]
BOUND = 10.0


def line_of(record: logging.LogRecord) -> dict[str, Any]:
    """Render a record and parse the line."""
    rendered = render(record)
    assert b"\n" not in rendered
    parsed: dict[str, Any] = json.loads(rendered)
    return parsed


def record(message: str = "it happened", *arguments: object, **extra: Any) -> logging.LogRecord:
    """Make a record as a logger does."""
    return logging.getLogger("remindi.test").makeRecord(
        "remindi.test",
        logging.INFO,
        __file__,
        1,
        message,
        arguments,
        extra.pop("exc_info", None),
        extra=extra,
    )


def failure(error: BaseException) -> dict[str, Any]:
    """Return the line of a raised exception."""
    try:
        raise error
    except BaseException as caught:
        parsed: dict[str, Any] = line_of(record(exc_info=(type(caught), caught, caught.__traceback__)))
        told: dict[str, Any] = parsed["exception"]
        return told


def test_a_line_tells_time_level_target_message_and_its_fields() -> None:
    made = record("%s of %d", "one", 2, request_id="r-1", status=200)
    made.created = 1_800_000_000.123
    assert line_of(made) == {
        "time": "2027-01-15T08:00:00.123Z",
        "level": "info",
        "target": "remindi.test",
        "message": "one of 2",
        "request_id": "r-1",
        "status": 200,
    }


@pytest.mark.parametrize(
    ("level", "word"), [(5, "trace"), (10, "debug"), (20, "info"), (30, "warn"), (40, "error"), (50, "error")]
)
def test_levels_have_the_words_of_the_filter(level: int, word: str) -> None:
    made = record()
    made.levelno = level
    assert line_of(made)["level"] == word


def test_fields_cannot_replace_what_every_line_has() -> None:
    told = line_of(record(time="x", level="y", target="z"))
    assert told["level"] == "info"
    assert (told["time_"], told["level_"], told["target_"]) == ("x", "y", "z")


def test_an_exception_is_told_in_the_same_line_with_its_innermost_frames() -> None:
    def deep(levels: int) -> None:
        if levels:
            deep(levels - 1)
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="space") as caught:
        deep(50)
    told = line_of(record(exc_info=caught._excinfo))["exception"]
    assert told["type"] == "OSError"
    assert "No space left" in told["message"]
    assert len(told["trace"]) == MAX_FRAMES
    assert all(frame.startswith("unit/test_logs.py:") for frame in told["trace"])


def test_the_text_of_a_strange_exception_may_quote_content_and_is_left_out() -> None:
    assert failure(ValueError("item content"))["message"] is None
    assert failure(KeyError("item content"))["message"] is None
    assert failure(TypeError("unsupported operand"))["message"] == "unsupported operand"


def test_what_json_cannot_hold_is_written_somehow() -> None:
    class Stubborn:
        def __str__(self) -> str:
            raise RuntimeError

    cycle: list[object] = []
    cycle.append(cycle)
    told = line_of(
        record(
            "lone \ud800 surrogate",
            thing=object(),
            path=Path("/tmp/x"),
            stubborn=Stubborn(),
            cycle=cycle,
            lone="\udcff",
            nested={"a": {1, 2}},
            key={1: 2},
        )
    )
    assert told["message"] == "lone \\ud800 surrogate"
    assert told["path"] == "/tmp/x"
    assert told["stubborn"] == "<Stubborn>"
    assert told["lone"] == "\\udcff"


def test_a_message_whose_arguments_do_not_fit_still_makes_a_line() -> None:
    with outlet() as (handler, read):
        handler.emit(record("%d", "no number"))
        handler.finish()
        (line,) = read()
    assert json.loads(line)["message"] == "a log line could not be made: TypeError"


def test_a_long_text_is_cut_and_says_so() -> None:
    message = line_of(record("x" * (MAX_TEXT_CHARACTERS + 7)))["message"]
    assert message == "x" * MAX_TEXT_CHARACTERS + "... (7 characters more)"


@contextmanager
def outlet() -> Iterator[tuple[LineHandler, Any]]:
    """Return a handler that writes into a pipe, and a function that reads what came."""
    reading, writing = os.pipe()
    handler = LineHandler(Outlet(writing))

    def read() -> list[bytes]:
        os.close(writing)
        with os.fdopen(reading, "rb", closefd=False) as pipe:
            return pipe.read().splitlines()

    try:
        yield handler, read
    finally:
        for descriptor in (reading, writing):
            try:
                os.close(descriptor)
            except OSError:
                continue


def test_lines_of_many_threads_come_whole_and_all() -> None:
    def bring(handler: LineHandler, first: int) -> None:
        for number in range(first, first + 20):
            handler.emit(record(number=number))

    with outlet() as (handler, read):
        threads = [threading.Thread(target=bring, args=(handler, first)) for first in range(0, 160, 20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        handler.finish(BOUND)
        lines = read()
    assert sorted(json.loads(line)["number"] for line in lines) == list(range(160))


def test_a_blocked_pipe_costs_lines_and_holds_nobody() -> None:
    reading, writing = os.pipe()
    handler = LineHandler(Outlet(writing))
    payload = "x" * 1_900
    count = 2 * MAX_WAITING_BYTES // 1_900
    for number in range(count):
        # Nobody reads: were this to block, the test would never end.
        handler.emit(record(payload, number=number))
    lines: list[bytes] = []

    def drain() -> None:
        with os.fdopen(reading, "rb") as pipe:
            lines.extend(pipe)

    reader = threading.Thread(target=drain)
    reader.start()
    handler.finish(BOUND)
    os.close(writing)
    reader.join(BOUND)
    told = [json.loads(line) for line in lines]
    lost = [line["lines"] for line in told if line["target"] == "remindi.logs"]
    assert sum(lost) > 0
    assert len(told) - len(lost) + sum(lost) == count


def test_a_closed_pipe_does_not_end_the_process() -> None:
    program = textwrap.dedent(
        """
        import logging, os, sys
        from remindi.cli import logs
        from remindi.logfilter import parse_log_filter
        handler = logs.configure(parse_log_filter("info"))
        for number in range(1_000):
            logging.getLogger("remindi").info("line %d", number)
        handler.finish(10.0)
        os._exit(42)
        """
    )
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-c", program],
        stdout=writing,
        cwd=ROOT,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (42, b"")


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("info", {"remindi.a info", "other info", "mcp warning"}),
        ("off", set()),
        ("error", set()),
        ("warn,remindi.a=debug", {"remindi.a info", "remindi.a debug", "mcp warning"}),
        ("debug,remindi=off,mcp=debug", {"other info", "other debug", "mcp warning"}),
    ],
)
def test_the_filter_decides_which_lines_are_written(text: str, seen: set[str]) -> None:
    program = textwrap.dedent(
        f"""
        import logging, warnings
        from remindi.cli import logs
        from remindi.logfilter import parse_log_filter
        handler = logs.configure(parse_log_filter({text!r}))
        for name in ("remindi.a", "other", "mcp"):
            for level in ("info", "debug"):
                getattr(logging.getLogger(name), level)(f"{{name}} {{level}}")
        logging.getLogger("mcp").warning("mcp warning")
        handler.finish(10.0)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, cwd=ROOT, timeout=60, check=True
    )
    assert {json.loads(line)["message"] for line in done.stdout.splitlines()} == seen
    assert done.stderr == b""


def test_an_uncaught_exception_is_one_line_too() -> None:
    program = textwrap.dedent(
        """
        import threading
        from remindi.cli import logs
        from remindi.logfilter import parse_log_filter
        handler = logs.configure(parse_log_filter("info"))
        thread = threading.Thread(target=lambda: {}["missing"], name="worker")
        thread.start()
        thread.join()
        handler.finish(10.0)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, cwd=ROOT, timeout=60, check=True
    )
    (line,) = map(json.loads, done.stdout.splitlines())
    assert (line["level"], line["exception"]["type"], line["thread_name"]) == ("error", "KeyError", "worker")
    assert done.stderr == b""
