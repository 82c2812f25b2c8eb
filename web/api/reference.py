"""The reference: the API for people, route by route with an example of each, made of the OpenAPI document."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from remindi.inputs.administration import CONFIRMATION
from web.api.openapi import Json, document

FILE: Final = "api.md"

_METHODS: Final = ("get", "post", "patch")
_BY_NAME: Final[dict[str, Any]] = {
    "actor_id": "webui:Yy1tZXRob2QtYW5kLW5vdC1hLW5hbWU",
    "actor_type": "user",
    "at": "2026-12-01T09:30:00Z",
    "confirmation": CONFIRMATION,
    "csrf_token": "Yx3mK0Q5m1hH8y2l0yqkWm3Vq0r7m8b0Xh6o2cJm9sU",
    "cursor": "AQIDBAUGBwg",
    "evidence": {
        "type": "test_result",
        "summary": "Health, checkout and login passed against the new release.",
        "reference_uri": "https://ci.example.com/runs/4711",
        "observed_at": "2026-12-01T08:06:00Z",
    },
    "goal_id": "release-4.2",
    "idempotency_key": "deploy-1201.add",
    "message": "Verify the deployment after the observation window.",
    "project_id": "shop",
    "reason": "The window was extended.",
    "reauthentication_required": False,
    "request_id": "019ad2c8-7e2b-7c11-9a55-3f0c0e6b7a21",
    "trigger": {"type": "at_time", "at": "2026-12-01T09:30:00Z"},
    "username": "admin",
    "value": 3_600,
}
"""What an example says for a field of this name; other fields say what their schema allows."""
_BY_FORMAT: Final = {"date-time": "2026-12-01T08:00:00.000Z", "date": "2026-12-01", "uuid": "019ad2c8-…"}


def write_reference(folder: Path) -> None:
    """Write the reference into ``folder``."""
    (folder / FILE).write_text(_text(), encoding="utf-8")


def check_reference(folder: Path) -> bool:
    """Whether the reference in ``folder`` is as the code says."""
    path = folder / FILE
    return path.is_file() and path.read_text(encoding="utf-8") == _text()


def _text() -> str:
    return "\n".join(_lines(document())) + "\n"


def _lines(whole: Json) -> Iterator[str]:
    yield "# Administration API, route by route"
    yield ""
    yield "Made by `make schema`, as [openapi.json](openapi.json) is, which says it all exactly. Paths lie"
    yield "under `/api/v1`; a body shows what is required, an answer its `data`; `(Item)` and the like stand"
    yield "for the objects at the end. The README says how to sign in, and what the refusals mean."
    for path, methods in whole["paths"].items():
        for method in _METHODS:
            if method in methods:
                yield from _route(path, method, methods[method])
    yield ""
    yield "## Objects"
    for name, schema in whole["components"]["schemas"].items():
        if name != "Failure":
            yield ""
            yield f"### {name}"
            yield from _json(example(schema, whole=True))


def _route(path: str, method: str, operation: Json) -> Iterator[str]:
    yield ""
    yield f"## `{method.upper()} {path}`"
    yield ""
    yield f"{operation['summary']}."
    names = [f"`{parameter['name']}`" for parameter in operation.get("parameters", ())]
    if names:
        yield ""
        yield f"Query: {', '.join(names)}."
    if "requestBody" in operation:
        taken = operation["requestBody"]["content"]
        if "application/json" in taken:
            yield from _json(example(taken["application/json"]["schema"]))
        else:
            yield ""
            yield "Takes `multipart/form-data` with exactly one part, `file`, and a `Content-Length`."
    responses = operation["responses"]
    content = (responses.get("200") or responses["201"])["content"]
    yield ""
    if "application/json" in content:
        yield "Answers"
        yield from _json(example(content["application/json"]["schema"]["properties"]["data"], whole=True))
    elif "text/event-stream" in content:
        yield "Answers with a stream of events (`text/event-stream`)."
    else:
        yield f"Answers with a file (`{next(iter(content))}`)."


def _json(value: Any) -> Iterator[str]:
    yield ""
    yield "```json"
    yield json.dumps(value, indent=2, ensure_ascii=False)
    yield "```"


def example(schema: Json, name: str = "", *, whole: bool = False) -> Any:
    """A value that a schema describes.

    Args:
        schema: of the OpenAPI document.
        name: of the field that it is for, if it is for one.
        whole: whether optional fields are shown as well, as in answers.
    """
    if "$ref" in schema:
        return f"({schema['$ref'].rpartition('/')[2]})"
    if "const" in schema:
        return schema["const"]
    if name in _BY_NAME and not whole:
        return _BY_NAME[name]
    if "anyOf" in schema:
        return example(schema["anyOf"][0], name, whole=whole)
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            return _object(schema, whole=whole)
        case "array":
            return [example(schema["items"], name, whole=whole)]
        case "integer":
            return _BY_NAME.get(name, schema.get("default", max(1, schema.get("minimum", 1))))
        case "boolean":
            return _BY_NAME.get(name, schema.get("default", True))
        case "string":
            return _BY_NAME.get(name, _BY_FORMAT.get(schema.get("format", ""), "…"))
        case _:
            return None


def _object(schema: Json, *, whole: bool) -> Json:
    properties: Json = schema.get("properties", {})
    required = schema.get("required", ())
    shown = [name for name in properties if whole or name in required]
    if len(shown) < schema.get("minProperties", 0):
        # A change has to change something.
        shown += [name for name in properties if name not in shown][:1]
    return {name: example(properties[name], name, whole=whole) for name in shown}
