"""Input schemas: the models of ``remindi.inputs`` in the one form that all clients hand on (contract 1.8).

No composition keyword but the bare ``anyOf`` of a type and null, no ``$ref``, no type arrays, no boolean
subschemas. Each limit stands as a keyword and again in the description, because some clients strip keywords.
"""

import json
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema

from remindi import tools
from remindi.inputs.failures import Arguments
from remindi.inputs.mutations import (
    AddArguments,
    CancelArguments,
    CompleteArguments,
    SnoozeArguments,
    UpdateArguments,
)
from remindi.inputs.queries import CheckArguments, HistoryArguments, ListArguments

Schema = dict[str, Any]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
MODELS: Final[Mapping[str, type[Arguments]]] = {
    tools.ADD: AddArguments,
    tools.CHECK: CheckArguments,
    tools.COMPLETE: CompleteArguments,
    tools.SNOOZE: SnoozeArguments,
    tools.UPDATE: UpdateArguments,
    tools.LIST: ListArguments,
    tools.CANCEL: CancelArguments,
    tools.HISTORY: HistoryArguments,
}
_INTERNAL: Final = ("title", "discriminator")
"""What pydantic says for its own sake."""
_RFC3339: Final = "RFC 3339 with Z or an offset, such as 2026-12-01T09:30:00Z."


def input_schema(tool: str) -> Schema:
    """The published input schema of a tool."""
    return {"$schema": DIALECT, **model_schema(MODELS[tool])}


def model_schema(model: type[Arguments]) -> Schema:
    """A model in the published form."""
    raw = model.model_json_schema(schema_generator=_Generator)
    definitions = raw.pop("$defs", {})
    for described in (raw, *definitions.values()):
        # The docstring of a model speaks to the reader of its code.
        del described["description"]
    return _published(raw, definitions)


class _Generator(GenerateJsonSchema):
    def encode_default(self, dft: Any) -> Any:
        """A default as it would be sent."""
        return dft.name.lower() if isinstance(dft, IntEnum) else super().encode_default(dft)


def _published(node: Schema, definitions: Mapping[str, Schema]) -> Schema:
    if "$ref" in node:
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return _published({**_resolved(node, definitions), **beside}, definitions)
    if "anyOf" in node:
        value, null = node["anyOf"]
        described = {**value, "description": node["description"]} if "description" in node else value
        return {"anyOf": [_published(described, definitions), null]}
    if "oneOf" in node:
        return _flat(node, [_resolved(branch, definitions) for branch in node["oneOf"]], definitions)
    published = {key: value for key, value in node.items() if key not in _INTERNAL}
    for keyword, says_nothing in (("minLength", 0), ("default", None)):
        if keyword in published and published[keyword] == says_nothing:
            del published[keyword]
    if "properties" in published:
        published["properties"] = {
            name: _published(field, definitions) for name, field in published["properties"].items()
        }
    if "items" in published:
        published["items"] = _published(published["items"], definitions)
    return _with_limits(published)


def _resolved(node: Schema, definitions: Mapping[str, Schema]) -> Schema:
    return definitions[node["$ref"].rpartition("/")[2]]


def _flat(node: Schema, branches: list[Schema], definitions: Mapping[str, Schema]) -> Schema:
    """One closed object for a tagged union, with all fields of all branches; the description sorts them."""
    fields: Schema = {}
    rules: dict[str, list[str]] = {}
    for branch in branches:
        kind = branch["properties"]["type"]["const"]
        rules.setdefault(_takes(branch), []).append(kind)
        for name, field in branch["properties"].items():
            fields.setdefault(name, field)
    kinds = [branch["properties"]["type"]["const"] for branch in branches]
    fields["type"] = {"type": "string", "enum": kinds, "description": "The kind of trigger."}
    takes = "; ".join(f"{' and '.join(kinds)} {rule}" for rule, kinds in rules.items())
    return {
        "type": "object",
        "description": f"{node['description']} Besides type, {takes}. Fields of another type are refused.",
        "properties": {name: _published(field, definitions) for name, field in fields.items()},
        "required": ["type"],
        "additionalProperties": False,
    }


def _takes(branch: Schema) -> str:
    required = [name for name in branch["required"] if name != "type"]
    optional = [name for name in branch["properties"] if name not in branch["required"]]
    if not required:
        return "take nothing"
    needs = f"needs {' and '.join(required)}"
    return f"{needs} and may have {' and '.join(optional)}" if optional else needs


def _with_limits(schema: Schema) -> Schema:
    """The schema whose description also says its limits."""
    sentences = [schema["description"]] if "description" in schema else []
    sentences += _limits(schema)
    published = {"type": schema["type"]}
    if sentences:
        published["description"] = " ".join(sentences)
    return published | {key: value for key, value in schema.items() if key not in published}


def _limits(schema: Schema) -> list[str]:
    sentences = []
    match schema:
        case {"minLength": least, "maxLength": most}:
            sentences.append(f"{least}-{most} characters.")
        case {"maxLength": most}:
            sentences.append(f"At most {most} characters.")
        case {"minimum": least, "maximum": most}:
            sentences.append(f"{least}-{most}.")
        case {"minimum": least}:
            sentences.append(f"At least {least}.")
        case {"format": "date-time"}:
            sentences.append(_RFC3339)
        case {"maxItems": most, "uniqueItems": True}:
            sentences.append(f"At most {most}, each only once.")
        case {"uniqueItems": True}:
            sentences.append("Each only once.")
    if "default" in schema:
        sentences.append(f"Default {json.dumps(schema['default'])}.")
    return sentences
