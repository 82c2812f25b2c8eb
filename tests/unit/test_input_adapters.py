"""Updates of adapters as they come in: the order of contract 11.9, and nothing that a fuzzer finds raises."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remindi.adapters import (
    ADAPTER_NAMES,
    Adapter,
    AdapterRegistry,
    admit,
    parameters_of_alias,
    read_configuration,
    read_parameters,
)
from remindi.cli.words import refusal_lines
from remindi.errors import MAX_FIELD_ERRORS, MAX_POINTER_CHARACTERS, REASONS, ErrorCode, Refusal
from remindi.inputs.adapters import AdapterUpdate, read_adapter_update
from remindi.triggers import Condition
from remindi.views import failure, to_json
from tests.unit.samples import Arguments, changed, without
from tests.unit.test_adapters import CONFIGURATIONS, PARAMETERS

BODY: Arguments = {"enabled": True, "configuration": CONFIGURATIONS["tcp_reachable"], "expected_version": 1}

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.sampled_from(
        ["https://a.example", "http://a", "https://u:p@a", "https://[::1", "/srv", "/../x", "a b", "", "\x00"]
    )
)
KEYS = st.text(max_size=140) | st.sampled_from(
    [
        *("type", "aliases", "roots", "url", "expected_statuses", "max_response_bytes", "host", "port"),
        *("expected_content_type", "allow_redirects", "allow_private", "api", "a/b", "a~b", "a.b"),
        *("target", "expected_status", "path_alias", "window_end"),
    ]
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS, inner, max_size=8),
    max_leaves=30,
)


def refused(name: str, body: object) -> Refusal:
    found = read_adapter_update(name, body)
    assert isinstance(found, Refusal), found
    return found


@pytest.mark.parametrize("name", ADAPTER_NAMES)
def test_a_whole_update_is_read(name: str) -> None:
    found = read_adapter_update(name, BODY | {"configuration": CONFIGURATIONS[name], "expected_version": 7})
    assert isinstance(found, AdapterUpdate)
    assert (found.name, found.enabled, found.expected_version) == (name, True, 7)
    assert found.configuration == read_configuration(name, CONFIGURATIONS[name])


@pytest.mark.parametrize(
    ("body", "field", "reason"),
    [
        (None, "", "null_not_allowed"),
        ([], "", "type"),
        ("{}", "", "type"),
        (without(BODY, "/enabled"), "/enabled", "required"),
        (without(BODY, "/configuration"), "/configuration", "required"),
        (without(BODY, "/expected_version"), "/expected_version", "required"),
        (changed(BODY, "/enabled", 1), "/enabled", "type"),
        (changed(BODY, "/enabled", None), "/enabled", "null_not_allowed"),
        (changed(BODY, "/configuration", []), "/configuration", "type"),
        (changed(BODY, "/configuration", None), "/configuration", "null_not_allowed"),
        (changed(BODY, "/expected_version", "1"), "/expected_version", "type"),
        (changed(BODY, "/expected_version", True), "/expected_version", "type"),
        (changed(BODY, "/expected_version", 0), "/expected_version", "too_small"),
        (changed(BODY, "/name", "x"), "/name", "unknown_field"),
    ],
)
def test_a_body_of_a_wrong_shape_is_refused_before_anything_else(
    body: object, field: str, reason: str
) -> None:
    found = refused("telepathy", body)
    assert found.code == ErrorCode.VALIDATION_ERROR
    assert [(error.field, error.reason) for error in found.errors] == [(field, reason)]


def test_an_unknown_name_comes_before_what_its_configuration_says() -> None:
    assert refused("telepathy", BODY | {"configuration": {"x": 1}}).code == ErrorCode.ADAPTER_NOT_FOUND


def test_a_configuration_of_another_adapter_is_refused() -> None:
    found = refused("observation_window_ended", BODY)
    assert ("/configuration/type", "enum") in found.errors


@given(st.sampled_from([*ADAPTER_NAMES, "telepathy", ""]), JSON)
def test_no_body_raises_and_each_refusal_is_plain_in_code_and_in_words(name: str, body: Any) -> None:
    found = read_adapter_update(name, body)
    if isinstance(found, Refusal):
        assert_plain(name, found)


@given(st.sampled_from(ADAPTER_NAMES), JSON)
def test_no_configuration_raises_and_an_accepted_one_is_stored_as_it_was_given(name: str, value: Any) -> None:
    found = read_adapter_update(name, BODY | {"configuration": value})
    if isinstance(found, Refusal):
        assert_plain(name, found)
        return
    stored = json.loads(found.configuration.model_dump_json())
    assert read_configuration(name, stored) == found.configuration
    assert without_nulls(stored) == without_nulls(value)


@given(st.sampled_from(ADAPTER_NAMES), st.data())
def test_one_wrong_value_anywhere_in_a_sound_configuration_is_refused_or_taken_whole(
    name: str, data: st.DataObject
) -> None:
    sound = CONFIGURATIONS[name]
    place = data.draw(st.sampled_from(places(sound)))
    value = data.draw(JSON)
    found = read_adapter_update(name, BODY | {"configuration": put(sound, place, value)})
    if isinstance(found, Refusal):
        assert_plain(name, found)
        assert all(error.field.startswith("/configuration") for error in found.errors)


@given(st.sampled_from([*ADAPTER_NAMES, "telepathy"]), st.dictionaries(KEYS, JSON, max_size=4), st.booleans())
def test_no_parameters_raise_and_each_refusal_names_their_place(
    name: str, parameters: dict[str, Any], enabled: bool
) -> None:
    text = json.dumps(parameters)
    found = read_parameters(name, text)
    registry = AdapterRegistry(
        Adapter(each, enabled, read(each, CONFIGURATIONS[each])) for each in ADAPTER_NAMES
    )
    admitted = admit(Condition(name, text, None, None), registry)
    if isinstance(found, Refusal):
        assert admitted == found
    for outcome in (found, admitted):
        if isinstance(outcome, Refusal) and outcome.code == ErrorCode.VALIDATION_ERROR:
            assert_plain(name, outcome)
            assert all(error.field.startswith("/trigger/parameters") for error in outcome.errors)


@pytest.mark.parametrize("name", ADAPTER_NAMES)
def test_each_alias_has_parameters_that_its_adapter_takes(name: str) -> None:
    configuration = read(name, CONFIGURATIONS[name])
    for alias in CONFIGURATIONS[name].get("aliases", {}):
        parameters = parameters_of_alias(configuration, alias)
        assert parameters is not None
        assert not isinstance(read_parameters(name, parameters), Refusal)
        assert json.loads(parameters).items() <= PARAMETERS[name].items()
    assert parameters_of_alias(configuration, "unheard-of") is None


@pytest.mark.parametrize(
    ("name", "place", "value", "line"),
    [
        ("http_health", "/aliases/staging/url", "http://x.example", "url: must be an https URL"),
        ("http_health", "/aliases/staging/expected_statuses", [], "must be a list of different statuses"),
        ("http_health", "/aliases/staging/expected_statuses/0", 99, "0: must be a whole number from 100 to"),
        ("http_health", "/aliases/staging/max_response_bytes", 0, "must be a whole number from 1 to 1048576"),
        ("http_health", "/aliases/staging/colour", 1, "colour: is not known here; leave it out"),
        ("http_health", "/aliases/url", 1, "configuration.aliases.url: must be an object"),
        ("tcp_reachable", "/aliases/db/port", 65_536, "port: must be a whole number from 1 to 65535"),
        (
            "tcp_reachable",
            "/aliases/a b",
            CONFIGURATIONS["tcp_reachable"]["aliases"]["db"],
            "an alias name has 1 to 128 letters",
        ),
        ("file_exists", "/aliases/nightly", "srv", "nightly: must be an absolute path without '..'"),
        ("file_exists", "/roots/0", "srv", "roots.0: must be the absolute path of a directory that is there"),
        ("observation_window_ended", "/type", "x", 'type: must be "observation_window_ended"'),
    ],
)
def test_a_refusal_names_field_and_rule_in_words(name: str, place: str, value: Any, line: str) -> None:
    found = refused(name, BODY | {"configuration": put(CONFIGURATIONS[name], place, value)})
    lines = refusal_lines(name, failure("r", found, always_details=True)["error"])
    assert any(line in told for told in lines), lines
    assert all(told.startswith("configuration.") for told in lines)


def test_what_a_terminal_would_obey_is_not_printed() -> None:
    found = refused(
        "tcp_reachable", BODY | {"configuration": CONFIGURATIONS["tcp_reachable"] | {"\x1b[2J": 1}}
    )
    lines = refusal_lines("tcp_reachable", failure("r", found, always_details=True)["error"])
    assert lines == ["configuration.?[2J: is not known here; leave it out"]


def assert_plain(name: str, refusal: Refusal) -> None:
    """A refusal as the contract has it, which also reads well."""
    assert refusal.code in (ErrorCode.VALIDATION_ERROR, ErrorCode.ADAPTER_NOT_FOUND)
    assert len(refusal.errors) <= MAX_FIELD_ERRORS
    assert bool(refusal.errors) is (refusal.code == ErrorCode.VALIDATION_ERROR)
    for error in refusal.errors:
        assert len(error.field) <= MAX_POINTER_CHARACTERS
        assert error.reason in REASONS
    envelope = failure("r", refusal, always_details=True)
    assert json.loads(to_json(envelope)) == envelope
    lines = refusal_lines(name, envelope["error"])
    assert lines
    assert all(line.isprintable() and len(line) < 400 for line in lines)


def read(name: str, value: Any) -> Any:
    found = read_configuration(name, value)
    assert not isinstance(found, Refusal)
    return found


def places(value: Any, at: str = "") -> list[str]:
    """Pointers to every value inside an object."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, each in inner for place in (f"{at}/{key}", *places(each, f"{at}/{key}"))]


def put(value: Any, pointer: str, new: Any) -> Any:
    """A JSON value with another one at a pointer; the original stays as it is."""
    head, _, rest = pointer.removeprefix("/").partition("/")
    if isinstance(value, list):
        at = int(head)
        return [*value[:at], put(value[at], f"/{rest}", new) if rest else new, *value[at + 1 :]]
    return {**value, head: put(value[head], f"/{rest}", new) if rest else new}


def without_nulls(value: Any) -> Any:
    """An optional key that is null says the same as none."""
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return value
