"""The reference for people: as the code says, with examples that are what they are examples of."""

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from web.api.openapi import document
from web.api.reference import check_reference, example, write_reference

SCHEMA = Path(__file__).parents[3] / "schema"
DOCUMENT = document()
BODIES = [
    (f"{method} {path}", content["application/json"]["schema"])
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    if method != "parameters" and "requestBody" in operation
    if "application/json" in (content := operation["requestBody"]["content"])
]


def test_the_committed_reference_is_the_one_that_the_code_makes(tmp_path: Path) -> None:
    assert check_reference(SCHEMA)
    assert not check_reference(tmp_path)
    write_reference(tmp_path)
    assert check_reference(tmp_path)


def test_every_route_has_its_place() -> None:
    text = (SCHEMA / "api.md").read_text()
    for path, methods in DOCUMENT["paths"].items():
        for method in methods:
            if method != "parameters":
                assert f"## `{method.upper()} {path}`" in text


@pytest.mark.parametrize(("name", "schema"), BODIES, ids=[name for name, _ in BODIES])
def test_an_example_of_a_body_is_one(name: str, schema: Any) -> None:
    assert name
    Draft202012Validator(schema).validate(example(schema))
