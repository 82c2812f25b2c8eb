"""``remindi schema``: the generated contracts of the tools, written or compared."""

import sys
from pathlib import Path

import schema
from remindi.cli.arguments import SchemaArguments
from remindi.cli.exits import FAILED, OK
from remindi.schemas import check_schemas, write_schemas


def run(arguments: SchemaArguments) -> int:
    """Write or check ``schema/tools`` beside the installed package."""
    folder = Path(*schema.__path__) / "tools"
    if arguments.write:
        write_schemas(folder)
        return OK
    wrong = check_schemas(folder)
    for name in wrong:
        print(f"{folder / name}: not as the code says; run 'remindi schema --write'", file=sys.stderr)
    return FAILED if wrong else OK
