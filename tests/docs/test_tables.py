"""The tables of the documents say what the tables of the code say."""

import json
import re
from pathlib import Path

import pytest

from actors.asks import ASKS
from remindi.adapters import ADAPTER_NAMES
from remindi.cli.exits import EXITS
from remindi.config import VARIABLES
from remindi.errors import ErrorCode
from remindi.inputs.adapters import AdapterUpdate, read_adapter_update
from remindi.inputs.evidence import BARE_CLAIMS
from remindi.settings import SETTINGS
from remindi.tools import TOOL_NAMES
from remindi.triggers import TRIGGER_WORDS
from web.api.routes import ROUTES

pytestmark = pytest.mark.docs

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()


def table(text: str, *heads: str) -> list[list[str]]:
    """The rows of the one table with these column heads; code marks are taken off."""
    lines = iter(text.splitlines())
    wanted = [head.casefold() for head in heads]
    for line in lines:
        if [cell.casefold() for cell in cells(line)] == wanted:
            next(lines)
            rows = []
            for row in lines:
                if not row.startswith("|"):
                    break
                rows.append(cells(row))
            return rows
    raise AssertionError(f"no table with the heads {heads}")


def cells(line: str) -> list[str]:
    return [cell.strip().replace("`", "") for cell in line.strip().strip("|").split("|")]


def test_the_readme_names_every_tool_in_the_order_of_the_tools() -> None:
    named = [row[0] for row in table(README, "tool", "what for")]
    assert sorted(named) == sorted(TOOL_NAMES)


def test_the_readme_names_every_trigger() -> None:
    assert [row[0] for row in table(README, "type", "fields", "becomes due")] == list(TRIGGER_WORDS)


def test_the_readme_lists_every_setting_with_its_default_bounds_and_meaning() -> None:
    rows = table(README, "setting", "default", "bounds", "meaning")
    assert rows == [
        [
            setting.key,
            str(setting.default),
            f"{setting.minimum}-{setting.maximum}",
            setting.meaning[0].lower() + setting.meaning[1:].rstrip("."),
        ]
        for setting in SETTINGS
    ]


def test_the_readme_lists_every_variable_once_with_its_default() -> None:
    rows = table(README, "variable", "default", "effect")
    listed = {name.strip(): default for names, default, _ in rows for name in names.split(",")}
    assert list(listed) == [variable.name for variable in VARIABLES]
    for variable in VARIABLES:
        default = listed[variable.name]
        assert (
            default.startswith("required")
            if variable.required
            else default in (variable.default, "empty") or (default.startswith("required"))
        )


def test_the_readme_lists_every_route_of_the_api() -> None:
    rows = table(README, "method", "route", "what for")
    assert rows == [
        [method, re.sub(r":[a-z]+}", "}", path), made.summary[0].lower() + made.summary[1:]]
        for path, resource in ROUTES.items()
        for method, made in resource.operations.items()
    ]


def test_the_readme_names_every_parameter_of_a_query() -> None:
    paths = json.loads((ROOT / "schema" / "openapi.json").read_text())["paths"]
    for route, names in table(README, "route", "parameters"):
        taken = [each["name"] for each in paths[route]["get"]["parameters"] if each.get("in") == "query"]
        assert sorted(re.sub(r" \(.*?\)", "", names).split(", ")) == sorted(taken), route
    with_queries = {
        route
        for route, operations in paths.items()
        for each in operations.get("get", {}).get("parameters", ())
        if each.get("in") == "query"
    }
    assert {route for route, _ in table(README, "route", "parameters")} == with_queries


def test_the_readme_lists_every_exit_code_with_its_meaning() -> None:
    rows = table(README, "exit code", "meaning")
    assert rows == [[str(entry.code), entry.meaning] for entry in EXITS]


def test_the_readme_shows_every_bare_claim() -> None:
    found = re.search(r"A summary is refused as a bare claim when it says only: (.*?)\.\n", README, re.DOTALL)
    assert found is not None
    assert {claim.strip() for claim in found[1].replace("\n", " ").split(",")} == BARE_CLAIMS


def test_the_readme_names_every_adapter_and_shows_a_configuration_of_each_that_is_taken() -> None:
    rows = table(README, "adapter", "parameters of the condition", "holds when")
    assert sorted(row[0] for row in rows) == list(ADAPTER_NAMES)
    examples = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", README, re.DOTALL)]
    shown = [example for example in examples if "configuration" in example]
    assert sorted(example["configuration"]["type"] for example in shown) == list(ADAPTER_NAMES)
    for example in shown:
        update = read_adapter_update(example["configuration"]["type"], example | {"expected_version": 1})
        assert isinstance(update, AdapterUpdate), update


def test_the_ask_table_of_the_architecture_is_the_one_that_tests_hold_asks_against() -> None:
    rows = table(ARCHITECTURE, "asks", "asked")
    assert {asker: {name.strip() for name in asked.split(",") if name.strip()} for asker, asked in rows} == {
        asker: set(asked) for asker, asked in ASKS.items()
    }


def test_each_error_code_has_one_short_sentence_of_its_own() -> None:
    messages = [code.message for code in ErrorCode]
    assert len(set(messages)) == len(messages)
    assert all(message.endswith(".") and len(message) <= 80 for message in messages)


def test_each_environment_variable_has_its_block_in_the_example() -> None:
    example = (ROOT / ".env.example").read_text()
    for variable in VARIABLES:
        assert re.search(rf"(?m)^(?:# .*\n)+#?{variable.name}=", example), variable.name
