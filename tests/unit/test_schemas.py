"""The published tools: structure, texts, and that they admit whatever the exact rules take (contract 1.8)."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import schema
from remindi import tools
from remindi.inputs import READERS
from remindi.inputs.evidence import BARE_CLAIMS
from remindi.schemas import (
    INSTRUCTIONS,
    SERVER_NAME,
    SERVER_TITLE,
    TOOLS,
    ToolSchema,
    check_schemas,
    write_schemas,
)
from remindi.triggers import TRIGGER_WORDS
from tests.unit.limits import ARRAYS, INTEGERS, MUTATIONS, TEXTS, with_field
from tests.unit.reading import failures
from tests.unit.requests_made import ARGUMENTS
from tests.unit.samples import FEWEST, MOST, NOW, TRIGGERS, changed

BY_NAME = {tool.name: tool for tool in TOOLS}
COMMITTED = Path(schema.__file__).parent / "tools"


def subschemas(node: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema within a schema, with its place; arrays add no step, a bare anyOf neither."""
    yield place, node
    for name, field in node.get("properties", {}).items():
        yield from subschemas(field, f"{place}/{name}")
    if "items" in node:
        yield from subschemas(node["items"], place + "/0")
    for branch in node.get("anyOf", []):
        yield from subschemas(branch, place)


def published(tool: str, field: str) -> dict[str, Any]:
    """The schema of a field of a tool's arguments, without its null."""
    return next(
        node for place, node in subschemas(BY_NAME[tool].input_schema) if place == field and "type" in node
    )


EVERY_SCHEMA = [
    pytest.param(node, id=f"{tool.name}-{direction}")
    for tool in TOOLS
    for direction, node in (("input", tool.input_schema), ("output", tool.output_schema))
]


class TestTools:
    def test_are_eight_in_the_order_of_the_contract(self) -> None:
        assert [tool.name for tool in TOOLS] == [
            "remindi_add",
            "remindi_check",
            "remindi_complete",
            "remindi_snooze",
            "remindi_update",
            "remindi_list",
            "remindi_cancel",
            "remindi_history",
        ]
        assert set(READERS) == set(tools.TOOL_NAMES) == set(BY_NAME)

    @pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
    def test_carry_all_four_hints(self, tool: ToolSchema) -> None:
        assert tool.annotations == {
            "readOnlyHint": tool.name in ("remindi_list", "remindi_history"),
            "destructiveHint": tool.name
            in ("remindi_complete", "remindi_snooze", "remindi_update", "remindi_cancel"),
            "idempotentHint": True,
            "openWorldHint": tool.name == "remindi_check",
        }

    @pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
    def test_have_a_title_and_a_description_that_fits_a_small_context(self, tool: ToolSchema) -> None:
        assert 3 <= len(tool.title) <= 60
        assert 100 <= len(tool.description) <= 700
        assert tool.description.isascii()

    def test_name_only_tools_that_exist(self) -> None:
        texts = [INSTRUCTIONS, *[tool.description for tool in TOOLS]]
        named = {name for text in texts for name in re.findall(r"remindi_\w+", text)}
        assert named - {"remindi_id"} <= set(BY_NAME)

    def test_are_what_is_committed(self) -> None:
        assert check_schemas(COMMITTED) == ()

    def test_fit_in_a_reasonable_list(self) -> None:
        assert sum(len(json.dumps([tool.description, tool.input_schema])) for tool in TOOLS) < 32_000


class TestInstructions:
    def test_are_short_and_say_that_nobody_wakes_a_client_and_when_to_pull(self) -> None:
        assert len(INSTRUCTIONS) <= 1_000
        assert "nobody wakes a disconnected client" in INSTRUCTIONS
        assert "remindi_check" in INSTRUCTIONS

    def test_stand_beside_a_name_and_a_title(self) -> None:
        assert (SERVER_NAME, bool(SERVER_TITLE)) == ("remindi", True)


@pytest.mark.parametrize("node", EVERY_SCHEMA)
class TestForm:
    def test_is_a_valid_schema_of_draft_2020_12(self, node: dict[str, Any]) -> None:
        assert node["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        Draft202012Validator.check_schema(node)

    def test_uses_no_keyword_that_a_client_is_known_to_break_on(self, node: dict[str, Any]) -> None:
        for place, inner in subschemas(node):
            assert isinstance(inner, dict), place
            forbidden = {
                "oneOf",
                "allOf",
                "not",
                "if",
                "$ref",
                "$defs",
                "const",
                "patternProperties",
                "nullable",
            }
            assert not forbidden & inner.keys(), place
            assert inner.get("additionalProperties", False) is False, place
            assert inner.get("format", "date-time") == "date-time", place
            assert "anyOf" in inner or isinstance(inner["type"], str), place
            assert not ({"anyOf"} & inner.keys() and inner.keys() != {"anyOf"}), place

    def test_says_null_only_as_a_bare_anyof_of_a_type_and_null(self, node: dict[str, Any]) -> None:
        for place, inner in subschemas(node):
            if "anyOf" in inner:
                value, null = inner["anyOf"]
                assert null == {"type": "null"}, place
                assert value["type"] != "null", place

    def test_has_a_closed_object_at_its_root_and_wherever_the_server_owns_it(
        self, node: dict[str, Any]
    ) -> None:
        assert node["type"] == "object"
        for place, inner in subschemas(node):
            if inner.get("type") == "object" and place.rpartition("/")[2] not in (
                "parameters",
                "metadata",
                "details",
            ):
                assert inner["additionalProperties"] is False, place
                assert set(inner.get("required", [])) <= inner["properties"].keys(), place

    def test_describes_every_property(self, node: dict[str, Any]) -> None:
        for place, inner in subschemas(node):
            for name, field in inner.get("properties", {}).items():
                described = field["anyOf"][0] if "anyOf" in field else field
                if (place, name) != ("", "data"):
                    assert len(described["description"]) >= 8, f"{place}/{name}"

    def test_has_names_that_every_provider_takes(self, node: dict[str, Any]) -> None:
        for _, inner in subschemas(node):
            assert all(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name) for name in inner.get("properties", {}))

    def test_never_names_the_owner(self, node: dict[str, Any]) -> None:
        assert "owner" not in json.dumps(node)


class TestLimits:
    def test_of_the_contract_are_all_published(self) -> None:
        for text in TEXTS:
            node = published(text.tool, text.field)
            assert (node.get("minLength", 0), node["maxLength"]) == (
                0 if text.empty is None else 1,
                text.maximum,
            )
        for integer in INTEGERS:
            node = published(integer.tool, integer.field)
            assert (node["minimum"], node.get("maximum")) == (integer.minimum, integer.maximum)
        for array in ARRAYS:
            node = published(array.tool, array.field)
            assert (node["maxItems"], node["uniqueItems"]) == (array.maximum, True)
        for tool in MUTATIONS:
            node = published(tool, "/idempotency_key")
            assert (node["minLength"], node["maxLength"]) == (8, 128)
            assert node["pattern"] == "^[A-Za-z0-9._:-]{8,128}$"

    def test_that_are_published_are_all_in_the_table_of_these_tests(self) -> None:
        known = {limit[:2] for limit in (*TEXTS, *INTEGERS, *ARRAYS)}
        known |= {(tool, "/idempotency_key") for tool in MUTATIONS}
        known |= {(tool, "/links/0/value") for tool in (tools.ADD, tools.UPDATE)}
        known |= {(tools.CHECK, "/active_goal_ids/0"), (tools.COMPLETE, "/evidence/reference_uri")}
        bounds = {"maxLength", "minimum", "maximum", "maxItems"}
        for tool in TOOLS:
            found = {
                (tool.name, place) for place, node in subschemas(tool.input_schema) if bounds & node.keys()
            }
            assert found <= known

    def test_stand_in_the_description_too(self) -> None:
        for tool in TOOLS:
            for place, node in subschemas(tool.input_schema):
                for keyword in ("minLength", "maxLength", "minimum", "maximum", "maxItems"):
                    if keyword in node:
                        numbers = re.findall(r"\d+", node["description"])
                        assert str(node[keyword]) in numbers, f"{tool.name}{place} {keyword}"
                if "default" in node:
                    assert f"Default {json.dumps(node['default'])}." in node["description"], place
                if node.get("uniqueItems"):
                    assert "only once" in node["description"], place
                if node.get("format"):
                    assert "RFC 3339" in node["description"], place

    def test_of_an_update_ask_for_five_properties(self) -> None:
        assert BY_NAME[tools.UPDATE].input_schema["minProperties"] == 5

    def test_include_the_defaults(self) -> None:
        expected = {
            tools.ADD: {"priority": "normal", "links": [], "recurrence/missed_policy": "coalesce"},
            tools.CHECK: {
                "active_goal_ids": [],
                "include_scheduled": False,
                "evaluate_conditions": True,
                "limit": 50,
            },
            tools.UPDATE: {"recurrence/missed_policy": "coalesce"},
            tools.LIST: {"states": [], "trigger_types": [], "limit": 50},
            tools.HISTORY: {"event_types": [], "limit": 100},
        }
        for tool in TOOLS:
            nodes = subschemas(tool.input_schema)
            found = {place[1:]: node["default"] for place, node in nodes if "default" in node}
            assert found == expected.get(tool.name, {})


@pytest.mark.parametrize("tool", [tools.ADD, tools.UPDATE])
class TestTrigger:
    def test_is_one_flat_object_with_the_fields_of_all_types(self, tool: str) -> None:
        trigger = published(tool, "/trigger")
        assert trigger["required"] == ["type"]
        assert trigger["properties"]["type"]["enum"] == list(TRIGGER_WORDS)
        assert trigger["properties"].keys() == {name for value in TRIGGERS.values() for name in value}

    def test_says_which_type_needs_which_field(self, tool: str) -> None:
        description = published(tool, "/trigger")["description"]
        for kind, value in TRIGGERS.items():
            assert kind in description
            assert all(name in description for name in value)


def test_only_what_takes_null_publishes_null() -> None:
    for tool in TOOLS:
        for place, node in subschemas(tool.input_schema):
            name = place.removeprefix("/").partition("/")
            if "anyOf" in node and not name[1]:
                assert failures(tool.name, {**MOST[tool.name], name[0]: None}) == [], place


@pytest.mark.parametrize("name", tools.TOOL_NAMES)
@settings(max_examples=150, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(data=st.data())
def test_whatever_the_exact_rules_take_the_published_schema_admits(name: str, data: st.DataObject) -> None:
    arguments = data.draw(ARGUMENTS[name])
    assert failures(name, arguments) == []
    Draft202012Validator(BY_NAME[name].input_schema).validate(arguments)


@pytest.mark.parametrize("name", tools.TOOL_NAMES)
def test_the_published_schema_admits_the_samples_and_refuses_what_it_can(name: str) -> None:
    validator = Draft202012Validator(BY_NAME[name].input_schema)
    for arguments in (FEWEST[name], MOST[name]):
        assert validator.is_valid(arguments)
        assert not validator.is_valid({**arguments, "owner_id": "x"})
    for tool, field, maximum, _ in TEXTS:
        if tool == name:
            assert not validator.is_valid(changed(with_field(name, field), field, "x" * (maximum + 1))), field
    for tool, field, minimum, _ in INTEGERS:
        if tool == name:
            assert not validator.is_valid(changed(with_field(name, field), field, minimum - 1)), field


def test_the_description_of_evidence_warns_of_bare_claims() -> None:
    text = published(tools.COMPLETE, "/evidence/summary")["description"]
    named = re.findall(r"'(\w+)'", text)
    assert named
    assert all(claim.casefold() in BARE_CLAIMS for claim in named)


class TestFiles:
    def test_are_written_once_and_then_agree(self, tmp_path: Path) -> None:
        folder = tmp_path / "schema" / "tools"
        assert len(check_schemas(folder)) == 8
        write_schemas(folder)
        assert check_schemas(folder) == ()

    def test_show_what_is_missing_stale_or_surplus(self, tmp_path: Path) -> None:
        write_schemas(tmp_path)
        (tmp_path / "remindi_add.json").unlink()
        (tmp_path / "remindi_list.json").write_text("{}")
        (tmp_path / "remindi_old.json").write_text("{}")
        assert check_schemas(tmp_path) == ("remindi_add.json", "remindi_list.json", "remindi_old.json")
        write_schemas(tmp_path)
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
            f"{tool.name}.json" for tool in TOOLS
        )

    def test_hold_the_tool_as_it_goes_over_the_wire(self, tmp_path: Path) -> None:
        write_schemas(tmp_path)
        tool = BY_NAME[tools.CHECK]
        assert json.loads((tmp_path / "remindi_check.json").read_text()) == {
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "annotations": tool.annotations,
            "inputSchema": tool.input_schema,
            "outputSchema": tool.output_schema,
        }


def test_now_is_no_part_of_a_schema() -> None:
    assert str(NOW) not in json.dumps([tool.input_schema for tool in TOOLS])
