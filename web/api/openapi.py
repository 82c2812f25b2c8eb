"""OpenAPI: the API as a document, made of the routes, their policies and the models (OpenAPI 3.1)."""

import json
import re
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from remindi import __version__
from remindi.errors import ErrorCode
from remindi.identifiers import UUID_PATTERN
from remindi.inputs.failures import Arguments
from remindi.schemas import answers
from remindi.schemas.arguments import model_schema
from remindi.schemas.pieces import closed_object, string
from web.api.answering import SECURITY_HEADERS
from web.api.cookies import NAME as COOKIE
from web.api.policy import Admission, Body, Operation, Policy, Resource
from web.api.routes import CONVERTERS, PREFIX, ROUTES
from web.multipart import MEDIA_TYPES, PART

Json = dict[str, Any]

FILE: Final = "openapi.json"

_PARAMETER: Final = re.compile(r"\{([a-z_]+)(?::([a-z_]+))?\}")
_COMPONENTS: Final = {
    "Item": answers.ITEM,
    "CheckItem": answers.CHECK_ITEM,
    "Trigger": answers.TRIGGER,
    "Recurrence": answers.RECURRENCE,
    "Event": answers.EVENT,
    "Evidence": answers.EVIDENCE,
    "Error": answers.ERROR,
}
_BY_IDENTITY: Final = {id(schema): name for name, schema in _COMPONENTS.items()}
_REQUEST_ID: Final = string("Names the exchange in events, audit and log; that of the header X-Request-Id.")
_FILE: Final[Json] = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": closed_object({PART.decode(): string("The file of a backup.", format="binary")}),
            "encoding": {PART.decode(): {"contentType": ", ".join(kind.decode() for kind in MEDIA_TYPES)}},
        }
    },
}
_SECURITY: Final[dict[Admission, list[Json]]] = {
    Admission.OPEN: [],
    Admission.SIGN_IN: [{"csrf": []}],
    Admission.SESSION: [{"session": []}],
    Admission.MUTATION: [{"session": [], "csrf": []}],
}
_INFO: Final = (
    "Everything an owner can do with Remindi, same-origin. A change needs the session cookie, an Origin that "
    "equals the Host, and the session's csrf_token in X-CSRF-Token; a sign-in needs the token that "
    "GET /session gives to whoever has no session. With REMINDI_WEBUI_AUTH=false everybody has a session. "
    "Every answer is an envelope and carries "
)


def document() -> Json:
    """The whole document."""
    carried = ", ".join(name.decode() for name, _ in SECURITY_HEADERS)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Remindi administration API",
            "version": __version__,
            "description": f"{_INFO}{carried} and x-request-id.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": PREFIX}],
        "paths": {_plain(path): _path(path, resource) for path, resource in ROUTES.items()},
        "components": {
            "schemas": {
                **{name: _linked(schema, inside=True) for name, schema in _COMPONENTS.items()},
                "Failure": closed_object(
                    {"ok": {"const": False}, "request_id": _REQUEST_ID, "error": _reference("Error")}
                ),
            },
            "headers": {
                "X-Request-Id": {"description": "Names the exchange.", "schema": {"type": "string"}},
                "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}},
                "Allow": {"description": "The methods of the path.", "schema": {"type": "string"}},
            },
            "securitySchemes": {
                "session": {"type": "apiKey", "in": "cookie", "name": COOKIE},
                "csrf": {"type": "apiKey", "in": "header", "name": "X-CSRF-Token"},
            },
        },
    }


def write_document(folder: Path) -> None:
    """Write the document into ``folder``."""
    (folder / FILE).write_text(_text(), encoding="utf-8")


def check_document(folder: Path) -> bool:
    """Whether the document in ``folder`` is as the code says."""
    path = folder / FILE
    return path.is_file() and path.read_text(encoding="utf-8") == _text()


def _text() -> str:
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


# ------------------------------------------------------------------ operations


def _plain(path: str) -> str:
    """A path without the converters of its parameters."""
    return _PARAMETER.sub(r"{\1}", path)


def _path(path: str, resource: type[Resource]) -> Json:
    parameters = [_path_parameter(name, converter) for name, converter in _PARAMETER.findall(path)]
    methods = {
        method.lower(): _operation(path, method, operation)
        for method, operation in resource.operations.items()
    }
    return {"parameters": parameters, **methods} if parameters else methods


def _path_parameter(name: str, converter: str) -> Json:
    schema: Json = {"type": "string"}
    if converter:
        schema["enum"] = list(CONVERTERS[converter].words)
    elif name == "id":
        schema["pattern"] = UUID_PATTERN
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _operation(path: str, method: str, operation: Operation) -> Json:
    words = [word for word in re.split(r"[^a-z]+", _plain(path).replace("{id}", "item")) if word]
    made: Json = {
        "operationId": "_".join((method.lower(), *words)),
        "summary": operation.summary,
        "tags": [words[0]],
        "security": _SECURITY[operation.policy.admission],
    }
    if operation.query is not None:
        made["parameters"] = list(_query(operation.query, path))
    if operation.policy.body is Body.UPLOAD:
        made["requestBody"] = _FILE
    elif operation.body is not None:
        made["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _without_id(model_schema(operation.body), path)}},
        }
    made["responses"] = dict(_responses(operation))
    return made


def _query(model: type[Arguments], path: str) -> Iterator[Json]:
    for name, schema in _without_id(model_schema(model), path)["properties"].items():
        taken = schema["anyOf"][0] if "anyOf" in schema else schema
        described = {key: value for key, value in taken.items() if key != "description"}
        parameter = {"name": name, "in": "query", "description": taken["description"], "schema": described}
        if taken["type"] == "array":
            # Set apart by commas.
            parameter |= {"style": "form", "explode": False}
        yield parameter


def _without_id(schema: Json, path: str) -> Json:
    """A tool's arguments without the id that the path names."""
    if "{id}" not in path:
        return schema
    properties = {name: field for name, field in schema["properties"].items() if name != "remindi_id"}
    required = [name for name in schema["required"] if name != "remindi_id"]
    changed = {**schema, "properties": properties, "required": required}
    if "minProperties" in schema:
        changed["minProperties"] = schema["minProperties"] - 1
    return changed


# ------------------------------------------------------------------- responses


def _responses(operation: Operation) -> Iterator[tuple[str, Json]]:
    if operation.media_type is not None:
        yield "200", {**_response(operation.summary, {}), "content": {operation.media_type: {}}}
    else:
        success = closed_object(
            {"ok": {"const": True}, "request_id": _REQUEST_ID, "data": _linked(operation.data)}
        )
        yield str(int(operation.status)), _response(operation.summary, success)
    by_status: dict[int, list[ErrorCode]] = {}
    for status, code in {*_refusals(operation.policy), *_own(operation)}:
        by_status.setdefault(status, []).append(code)
    for status, codes in sorted(by_status.items()):
        names = ", ".join(sorted(code.value for code in codes))
        yield str(status), _response(names, _reference("Failure"), status)


def _response(description: str, schema: Json, status: int = 200) -> Json:
    headers = ["X-Request-Id"]
    if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
        headers.append("Retry-After")
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        headers.append("Allow")
    return {
        "description": description,
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in headers},
        "content": {"application/json": {"schema": schema}},
    }


def _refusals(policy: Policy) -> Iterator[tuple[int, ErrorCode]]:
    """What may be refused before a responder is run, or where it asks."""
    always = [
        ErrorCode.VALIDATION_ERROR,
        ErrorCode.FORBIDDEN,
        ErrorCode.LIMIT_EXCEEDED,
        ErrorCode.DATABASE_BUSY,
        ErrorCode.MAINTENANCE_ACTIVE,
        ErrorCode.INTERNAL_ERROR,
    ]
    if policy.admission is not Admission.OPEN:
        always.append(ErrorCode.UNAUTHENTICATED)
    if policy.admission in (Admission.SIGN_IN, Admission.MUTATION):
        always.append(ErrorCode.CSRF_REJECTED)
    for code in always:
        yield code.http_status, code
    yield HTTPStatus.METHOD_NOT_ALLOWED, ErrorCode.VALIDATION_ERROR
    if policy.body is Body.UPLOAD:
        yield HTTPStatus.LENGTH_REQUIRED, ErrorCode.VALIDATION_ERROR
    if policy.body is not Body.NONE:
        yield HTTPStatus.UNSUPPORTED_MEDIA_TYPE, ErrorCode.VALIDATION_ERROR


def _own(operation: Operation) -> Iterator[tuple[int, ErrorCode]]:
    for code in operation.codes:
        # A body is too large for every operation; what is limited of its own is how often.
        throttled = code is ErrorCode.LIMIT_EXCEEDED
        yield (HTTPStatus.TOO_MANY_REQUESTS if throttled else code.http_status), code


# --------------------------------------------------------------------- schemas


def _reference(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _linked(node: Any, *, inside: bool = False) -> Any:
    """A schema in which components are named instead of repeated; ``inside`` one itself is written out."""
    if isinstance(node, list):
        return [_linked(part) for part in node]
    if not isinstance(node, dict):
        return node
    name = _BY_IDENTITY.get(id(node))
    if name is not None and not inside:
        return _reference(name)
    return {key: _linked(value) for key, value in node.items()}
