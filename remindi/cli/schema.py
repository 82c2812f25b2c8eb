"""``remindi schema``: the generated contracts of tools and API, written or compared."""

import sys
from pathlib import Path

import schema
from remindi.cli.arguments import SchemaArguments
from remindi.cli.exits import FAILED, OK
from remindi.schemas import check_schemas, write_schemas
from web.api import reference
from web.api.openapi import FILE, check_document, write_document
from web.api.reference import check_reference, write_reference


def run(arguments: SchemaArguments) -> int:
    """Write or check what is generated in ``schema`` beside the installed package."""
    folder = Path(*schema.__path__)
    tools = folder / "tools"
    if arguments.write:
        write_schemas(tools)
        write_document(folder)
        write_reference(folder)
        return OK
    wrong = [tools / name for name in check_schemas(tools)]
    if not check_document(folder):
        wrong.append(folder / FILE)
    if not check_reference(folder):
        wrong.append(folder / reference.FILE)
    for path in wrong:
        print(f"{path}: not as the code says; run 'remindi schema --write'", file=sys.stderr)
    return FAILED if wrong else OK
