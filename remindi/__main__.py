"""The command line's front door: reads what is asked for and calls the command; knows nothing else."""

import gc
import os
import signal
import sys
import threading
from typing import NoReturn, assert_never

from remindi import __version__
from remindi.cli.arguments import (
    AdaptersArguments,
    ConsoleArguments,
    InitArguments,
    SchemaArguments,
    ServeArguments,
    VersionArguments,
    parse,
)
from remindi.cli.backup_arguments import BackupArguments, DoctorArguments, TransferArguments
from remindi.cli.exits import DATA_DIRECTORY, OK
from remindi.cli.output import guarded
from remindi.cli.service_arguments import ApiArguments, ItemArguments


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code (``remindi.cli.exits``)."""
    with guarded() as output:
        code = _run(sys.argv[1:] if argv is None else argv)
        output.flush()
        if output.lost is not None:
            print(f"remindi: standard output cannot be written: {output.lost.strerror}.", file=sys.stderr)
            code = DATA_DIRECTORY
    return code


def _run(argv: list[str]) -> int:
    try:
        arguments = parse(argv)
    except SystemExit as ended:
        # Help, or a fault that was told.
        return int(ended.code or OK)
    # Each command imports what it needs: `remindi version` does not load a server.
    match arguments:
        case ServeArguments() | ConsoleArguments():
            _end_quietly_when_asked()
            # PERF: what imports make is never garbage; looking for some is a fifth of the way to ready.
            gc.disable()
            from remindi.cli import serve

            return serve.run(arguments)
        case InitArguments():
            from remindi.cli import init

            return init.run(arguments)
        case SchemaArguments():
            from remindi.cli import schema

            return schema.run(arguments)
        case ItemArguments():
            from remindi.cli import items

            return items.run(arguments)
        case ApiArguments():
            from remindi.cli import administration

            return administration.run(arguments)
        case AdaptersArguments():
            from remindi.cli import adapters

            return adapters.run(arguments)
        case DoctorArguments():
            from remindi.cli import doctor

            return doctor.run(arguments)
        case TransferArguments():
            from remindi.cli import transfers

            return transfers.run(arguments)
        case BackupArguments():
            from remindi.cli import backups

            return backups.run(arguments)
        case VersionArguments():
            print(f"remindi {__version__}")
            return OK
        case _:
            assert_never(arguments)


def _end_quietly_when_asked() -> None:
    """Take a stop that comes while the server is being loaded, and nothing is open yet, for what it is."""
    for number in (signal.SIGTERM, signal.SIGINT):
        # NOTE: not sys.exit: an import may catch its exception, or turn it into one of its own.
        signal.signal(number, lambda _number, _frame: os._exit(OK))


def entry() -> NoReturn:
    """Be the process: run the command of its arguments and end, whatever still runs beside."""
    code = main()
    if threading.active_count() > 1:
        # NOTE: a probe that is stuck must not keep a command from ending.
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    entry()
