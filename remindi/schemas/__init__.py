"""Schemas: what the service publishes of itself: eight tools with their schemas, and its instructions.

Contract 1.8. Input schemas derive from the models of ``remindi.inputs``, so each bound stands in one place.
"""

from remindi.schemas.files import check_schemas, write_schemas
from remindi.schemas.published import TOOLS, ToolSchema
from remindi.schemas.texts import INSTRUCTIONS, SERVER_NAME, SERVER_TITLE

__all__ = [
    "INSTRUCTIONS",
    "SERVER_NAME",
    "SERVER_TITLE",
    "TOOLS",
    "ToolSchema",
    "check_schemas",
    "write_schemas",
]
