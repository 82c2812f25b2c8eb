"""Files: the published tools as committed JSON, one file each, so that a change shows in a diff."""

import json
from pathlib import Path

from remindi.schemas.published import TOOLS, ToolSchema


def write_schemas(folder: Path) -> None:
    """Write one file per tool into ``folder``, making it if need be, and remove other JSON files there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in check_schemas(folder):
        if name in _expected():
            (folder / name).write_text(_expected()[name], encoding="utf-8")
        else:
            (folder / name).unlink()


def check_schemas(folder: Path) -> tuple[str, ...]:
    """Names of the files in ``folder`` that are missing, stale or not ours; none when nothing drifted."""
    expected = _expected()
    found = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.json")}
    return tuple(name for name in sorted({*expected, *found}) if expected.get(name) != found.get(name))


def _expected() -> dict[str, str]:
    return {f"{tool.name}.json": _text(tool) for tool in TOOLS}


def _text(tool: ToolSchema) -> str:
    document = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "annotations": tool.annotations,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
