"""Adapters: configuration, parameters and admission (contract 7.1, 7.3, 7.4)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remindi.adapters import (
    ADAPTER_NAMES,
    DISABLED_WARNING,
    UNKNOWN_ALIAS_WARNING,
    Adapter,
    AdapterRegistry,
    Configuration,
    FileParameters,
    HttpParameters,
    TcpParameters,
    WindowParameters,
    admit,
    read_configuration,
    read_parameters,
)
from remindi.errors import ErrorCode, Refusal
from remindi.instants import parse_instant
from remindi.triggers import Condition
from tests.unit.samples import NOW, Arguments, changed, without

HTTP: Arguments = {
    "type": "http_health",
    "aliases": {
        "staging": {
            "url": "https://staging.example.org/health",
            "expected_statuses": [200, 204],
            "max_response_bytes": 65_536,
            "expected_content_type": "application/json",
            "allow_redirects": False,
            "allow_private": False,
        }
    },
}
TCP: Arguments = {
    "type": "tcp_reachable",
    "aliases": {"db": {"host": "db.example.org", "port": 5_432, "allow_private": True}},
}
FILES: Arguments = {
    "type": "file_exists",
    "roots": ["/srv/reports"],
    "aliases": {"nightly": "/srv/reports/nightly.txt"},
}
WINDOW: Arguments = {"type": "observation_window_ended"}
CONFIGURATIONS = {value["type"]: value for value in (HTTP, TCP, FILES, WINDOW)}
PARAMETERS: dict[str, Arguments] = {
    "http_health": {"target": "staging", "expected_status": 204},
    "tcp_reachable": {"target": "db"},
    "file_exists": {"path_alias": "nightly"},
    "observation_window_ended": {"window_end": "2026-12-01T10:00:00+01:00"},
}
STAGING = "/aliases/staging"


def configured(adapter: str, value: Any = None) -> Configuration:
    found = read_configuration(adapter, CONFIGURATIONS[adapter] if value is None else value)
    assert not isinstance(found, Refusal), found
    return found


def refused(value: Arguments) -> list[tuple[str, str]]:
    found = read_configuration(value.get("type", "http_health"), value)
    if not isinstance(found, Refusal):
        return []
    assert found.code is ErrorCode.VALIDATION_ERROR
    assert all(error.field.startswith("/configuration") for error in found.errors)
    return [(error.field.removeprefix("/configuration"), error.reason) for error in found.errors]


class TestConfiguration:
    @pytest.mark.parametrize("adapter", ADAPTER_NAMES)
    def test_reads_and_is_shown_as_it_was_given(self, adapter: str) -> None:
        assert configured(adapter).model_dump(mode="json") == CONFIGURATIONS[adapter]

    @pytest.mark.parametrize("adapter", ADAPTER_NAMES)
    def test_of_the_defaults_is_valid_and_empty(self, adapter: str) -> None:
        default = AdapterRegistry.defaults().get(adapter)
        assert default is not None
        shown = default.configuration.model_dump(mode="json")
        assert read_configuration(adapter, shown) == default.configuration
        assert not any(value for key, value in shown.items() if key != "type")

    def test_cannot_be_changed_in_place(self) -> None:
        configuration: Any = configured("http_health")
        with pytest.raises(TypeError):
            configuration.aliases["x"] = configuration.aliases["staging"]
        with pytest.raises(ValueError, match="frozen"):
            configuration.aliases = {}

    def test_of_an_unknown_adapter_does_not_exist(self) -> None:
        assert read_configuration("nonsense", {}) == Refusal(ErrorCode.ADAPTER_NOT_FOUND)

    @pytest.mark.parametrize("value", [None, [], "x", 1, True], ids=repr)
    def test_is_an_object(self, value: object) -> None:
        reason = "null_not_allowed" if value is None else "type"
        found = read_configuration("http_health", value)
        assert isinstance(found, Refusal)
        assert found.errors == (("/configuration", reason),)

    @pytest.mark.parametrize("adapter", ADAPTER_NAMES)
    def test_names_its_own_adapter_and_nothing_unknown(self, adapter: str) -> None:
        value = CONFIGURATIONS[adapter]
        other = "tcp_reachable" if adapter != "tcp_reachable" else "http_health"
        for wrong, expected in (
            (changed(value, "/type", other), ("/configuration/type", "enum")),
            (without(value, "/type"), ("/configuration/type", "required")),
            (changed(value, "/extra", 1), ("/configuration/extra", "unknown_field")),
        ):
            found = read_configuration(adapter, wrong)
            assert isinstance(found, Refusal)
            assert found.errors == (expected,)

    @pytest.mark.parametrize("adapter", ["http_health", "tcp_reachable", "file_exists"])
    @pytest.mark.parametrize(
        ("alias", "reason"),
        [
            ("", "too_short"),
            ("a" * 129, "too_long"),
            ("a b", "format"),
            ("a/b", "format"),
            ("ä", "format"),
            ("a\n", "format"),
        ],
    )
    def test_takes_aliases_of_its_alphabet_only(self, adapter: str, alias: str, reason: str) -> None:
        value = CONFIGURATIONS[adapter]
        (entry,) = value["aliases"].values()
        place = alias.replace("/", "~1")
        assert refused({**value, "aliases": {alias: entry}}) == [(f"/aliases/{place}"[: 128 - 14], reason)]
        assert refused({**value, "aliases": {"A-z.0_9": entry, "b" * 128: entry}}) == []


class TestHttpAlias:
    @pytest.mark.parametrize(
        "url",
        [
            "https://h",
            "https://h:8443/a?b=c@d",
            "https://[2001:db8::1]:443/x",
            "https://192.0.2.1/",
            "HTTPS://H/",
            "https://exämple.org/",
        ],
    )
    def test_takes_an_https_url_with_a_host(self, url: str) -> None:
        assert refused(changed(HTTP, f"{STAGING}/url", url)) == []

    @pytest.mark.parametrize(
        ("url", "reason"),
        [
            ("", "format"),
            ("h", "format"),
            ("http://h/", "format"),
            ("file:///etc/passwd", "format"),
            ("https:", "host_missing"),
            ("https://", "host_missing"),
            ("https:///x", "host_missing"),
            ("https://:443/", "host_missing"),
            ("https://u@h/", "credentials"),
            ("https://u:p@h/", "credentials"),
            ("https://@h/", "credentials"),
            ("https://h/#f", "format"),
            ("https://h/#", "format"),
            ("https://h:0/", "format"),
            ("https://h:65536/", "format"),
            ("https://h:x/", "format"),
            ("https://[::1/", "format"),
            ("https://[x]/", "format"),
            ("https://h /", "format"),
            ("https://h\\@x/", "format"),
            ("https://h/\x00", "control_character"),
            ("https://h/\n", "format"),
            (" https://h/", "format"),
            (None, "null_not_allowed"),
            (1, "type"),
        ],
    )
    def test_refuses_any_other_url(self, url: Any, reason: str) -> None:
        assert refused(changed(HTTP, f"{STAGING}/url", url)) == [(f"{STAGING}/url", reason)]

    @pytest.mark.parametrize(
        ("statuses", "expected"),
        [
            ([100], []),
            ([599, 100], []),
            (list(range(100, 600)), []),
            ([], [("", "too_short")]),
            ([99], [("/0", "too_small")]),
            ([200, 600], [("/1", "too_large")]),
            ([200, 200], [("", "duplicate")]),
            ([200.0], [("/0", "type")]),
            ([True], [("/0", "type")]),
            ("200", [("", "type")]),
            (None, [("", "null_not_allowed")]),
        ],
    )
    def test_expects_statuses_without_doubles(self, statuses: Any, expected: list[tuple[str, str]]) -> None:
        place = f"{STAGING}/expected_statuses"
        found = refused(changed(HTTP, place, statuses))
        assert found == [(place + field, reason) for field, reason in expected]

    @pytest.mark.parametrize(
        ("cap", "reason"),
        [
            (1, None),
            (1_048_576, None),
            (0, "too_small"),
            (1_048_577, "too_large"),
            (1.0, "type"),
            (None, "null_not_allowed"),
        ],
    )
    def test_caps_the_body(self, cap: Any, reason: str | None) -> None:
        place = f"{STAGING}/max_response_bytes"
        assert refused(changed(HTTP, place, cap)) == ([] if reason is None else [(place, reason)])

    @pytest.mark.parametrize(
        ("kind", "reason"),
        [
            (None, None),
            ("x", None),
            ("x" * 128, None),
            ("", "blank"),
            ("x" * 129, "too_long"),
            ("a\tb", "control_character"),
            ("a\x00", "control_character"),
            (1, "type"),
        ],
    )
    def test_may_expect_a_content_type(self, kind: Any, reason: str | None) -> None:
        place = f"{STAGING}/expected_content_type"
        assert refused(changed(HTTP, place, kind)) == ([] if reason is None else [(place, reason)])
        assert refused(without(HTTP, place)) == []

    @pytest.mark.parametrize(
        "field", ["url", "expected_statuses", "max_response_bytes", "allow_redirects", "allow_private"]
    )
    def test_needs_every_other_field(self, field: str) -> None:
        assert refused(without(HTTP, f"{STAGING}/{field}")) == [(f"{STAGING}/{field}", "required")]

    def test_takes_no_unknown_field(self) -> None:
        assert refused(changed(HTTP, f"{STAGING}/proxy", "x")) == [(f"{STAGING}/proxy", "unknown_field")]


class TestTcpAlias:
    @pytest.mark.parametrize(
        ("host", "reason"),
        [
            ("h", None),
            ("h" * 253, None),
            ("2001:db8::1", None),
            ("", "blank"),
            (" \u00a0", "blank"),
            ("h" * 254, "too_long"),
            ("h\n", "control_character"),
            ("h\x00", "control_character"),
            (None, "null_not_allowed"),
        ],
    )
    def test_names_a_host(self, host: Any, reason: str | None) -> None:
        expected = [] if reason is None else [("/aliases/db/host", reason)]
        assert refused(changed(TCP, "/aliases/db/host", host)) == expected

    @pytest.mark.parametrize(
        ("port", "reason"),
        [(1, None), (65_535, None), (0, "too_small"), (65_536, "too_large"), ("80", "type"), (True, "type")],
    )
    def test_names_a_port(self, port: Any, reason: str | None) -> None:
        expected = [] if reason is None else [("/aliases/db/port", reason)]
        assert refused(changed(TCP, "/aliases/db/port", port)) == expected


class TestFiles:
    @pytest.mark.parametrize(
        ("path", "reason"),
        [
            ("/", None),
            ("/a/..b/c..", None),
            ("/a/./b", None),
            ("", "format"),
            ("a", "format"),
            ("./a", "format"),
            ("~/a", "format"),
            ("/a/../b", "format"),
            ("/..", "format"),
            ("/a\x00", "control_character"),
            ("/a\n", "control_character"),
            ("/a\ud800", "format"),
            (None, "null_not_allowed"),
            (1, "type"),
        ],
    )
    def test_are_named_by_absolute_paths_without_parent_steps(self, path: Any, reason: str | None) -> None:
        expected = [] if reason is None else [("/aliases/nightly", reason)]
        assert refused(changed(FILES, "/aliases/nightly", path)) == expected

    def test_lie_under_absolute_roots(self) -> None:
        assert refused(changed(FILES, "/roots", [])) == []
        assert refused(changed(FILES, "/roots", ["/a", "b", 1])) == [("/roots/2", "type")]
        assert refused(changed(FILES, "/roots", ["/a", "b"])) == [("/roots/1", "format")]
        assert refused(changed(FILES, "/roots", "/a")) == [("/roots", "type")]
        assert refused(without(FILES, "/roots")) == [("/roots", "required")]


class TestParameters:
    def test_become_values(self) -> None:
        found = {
            adapter: read_parameters(adapter, json.dumps(value)) for adapter, value in PARAMETERS.items()
        }
        window = found.pop("observation_window_ended")
        assert isinstance(window, WindowParameters)
        assert window.window_end == parse_instant("2026-12-01T09:00:00Z")
        assert found == {
            "http_health": HttpParameters(target="staging", expected_status=204),
            "tcp_reachable": TcpParameters(target="db"),
            "file_exists": FileParameters(path_alias="nightly"),
        }

    @pytest.mark.parametrize(
        ("adapter", "parameters", "field"),
        [
            *[(adapter, {**value, "extra": 1}, "/extra") for adapter, value in PARAMETERS.items()],
            ("http_health", {}, "/target"),
            ("http_health", {"target": ""}, "/target"),
            ("http_health", {"target": "https://example.org"}, "/target"),
            ("http_health", {"target": None}, "/target"),
            ("http_health", {"target": 1}, "/target"),
            ("http_health", {"target": "staging", "expected_status": 99}, "/expected_status"),
            ("http_health", {"target": "staging", "expected_status": 600}, "/expected_status"),
            ("http_health", {"target": "staging", "expected_status": 200.0}, "/expected_status"),
            ("http_health", {"target": "staging", "expected_status": "200"}, "/expected_status"),
            ("http_health", {"target": "staging", "expected_status": None}, "/expected_status"),
            ("tcp_reachable", {}, "/target"),
            ("tcp_reachable", {"target": "db:5432/x"}, "/target"),
            ("file_exists", {}, "/path_alias"),
            ("file_exists", {"path_alias": "/srv/reports/nightly.txt"}, "/path_alias"),
            ("observation_window_ended", {}, "/window_end"),
            ("observation_window_ended", {"window_end": "2026-12-01"}, "/window_end"),
            ("observation_window_ended", {"window_end": 5}, "/window_end"),
        ],
    )
    def test_that_do_not_fit_are_named(self, adapter: str, parameters: Arguments, field: str) -> None:
        found = read_parameters(adapter, json.dumps(parameters))
        assert isinstance(found, Refusal)
        assert found.errors == ((f"/trigger/parameters{field}", "parameters"),)

    def test_of_an_unknown_adapter_do_not_exist(self) -> None:
        assert read_parameters("nonsense", "{}") == Refusal(ErrorCode.ADAPTER_NOT_FOUND)


def condition(adapter: str, parameters: Arguments, *, by_hand: bool = False) -> Condition:
    return Condition(adapter, json.dumps(parameters), None, NOW if by_hand else None)


ENABLED = AdapterRegistry(Adapter(name, True, configured(name)) for name in ADAPTER_NAMES)
DISABLED = AdapterRegistry(Adapter(name, False, configured(name)) for name in ADAPTER_NAMES)
ALIASED = ("http_health", "tcp_reachable", "file_exists")


def other_alias(adapter: str) -> Arguments:
    return {next(iter(PARAMETERS[adapter])): "elsewhere"}


class TestAdmission:
    @pytest.mark.parametrize("adapter", ADAPTER_NAMES)
    @pytest.mark.parametrize("by_hand", [False, True])
    def test_of_what_is_enabled_and_known_is_silent(self, adapter: str, by_hand: bool) -> None:
        assert admit(condition(adapter, PARAMETERS[adapter], by_hand=by_hand), ENABLED) == ()

    @pytest.mark.parametrize("registry", [ENABLED, DISABLED, AdapterRegistry.defaults(), AdapterRegistry([])])
    @pytest.mark.parametrize("by_hand", [False, True])
    def test_of_an_unknown_adapter_is_refused_whatever_its_parameters(
        self, registry: AdapterRegistry, by_hand: bool
    ) -> None:
        found = admit(condition("nonsense", {"x": 1}, by_hand=by_hand), registry)
        assert found == Refusal(ErrorCode.ADAPTER_NOT_FOUND)

    @pytest.mark.parametrize("adapter", ADAPTER_NAMES)
    @pytest.mark.parametrize("registry", [ENABLED, DISABLED])
    @pytest.mark.parametrize("by_hand", [False, True])
    def test_of_parameters_that_do_not_fit_is_refused_before_anything_else(
        self, adapter: str, registry: AdapterRegistry, by_hand: bool
    ) -> None:
        found = admit(condition(adapter, {}, by_hand=by_hand), registry)
        assert isinstance(found, Refusal)
        assert {error.reason for error in found.errors} == {"parameters"}

    @pytest.mark.parametrize("registry", [ENABLED, DISABLED])
    @pytest.mark.parametrize("by_hand", [False, True])
    def test_of_a_status_that_the_known_alias_does_not_expect_is_refused(
        self, registry: AdapterRegistry, by_hand: bool
    ) -> None:
        parameters = {"target": "staging", "expected_status": 500}
        found = admit(condition("http_health", parameters, by_hand=by_hand), registry)
        assert isinstance(found, Refusal)
        assert found.errors == (("/trigger/parameters/expected_status", "parameters"),)

    def test_of_a_status_of_an_unknown_alias_is_a_matter_of_the_alias(self) -> None:
        parameters = {"target": "elsewhere", "expected_status": 500}
        assert admit(condition("http_health", parameters, by_hand=True), ENABLED) == (UNKNOWN_ALIAS_WARNING,)

    @pytest.mark.parametrize("adapter", ADAPTER_NAMES)
    def test_of_a_disabled_adapter_needs_a_check_by_hand(self, adapter: str) -> None:
        assert admit(condition(adapter, PARAMETERS[adapter]), DISABLED) == Refusal(ErrorCode.ADAPTER_DISABLED)
        warned = admit(condition(adapter, PARAMETERS[adapter], by_hand=True), DISABLED)
        assert warned == (DISABLED_WARNING,)

    @pytest.mark.parametrize("adapter", ALIASED)
    def test_of_an_unknown_alias_needs_a_check_by_hand(self, adapter: str) -> None:
        found = admit(condition(adapter, other_alias(adapter)), ENABLED)
        assert isinstance(found, Refusal)
        name = next(iter(PARAMETERS[adapter]))
        assert found.errors == ((f"/trigger/parameters/{name}", "unknown_alias"),)
        warned = admit(condition(adapter, other_alias(adapter), by_hand=True), ENABLED)
        assert warned == (UNKNOWN_ALIAS_WARNING,)

    @pytest.mark.parametrize("adapter", ALIASED)
    def test_finds_a_disabled_adapter_before_an_unknown_alias(self, adapter: str) -> None:
        wrong = other_alias(adapter)
        assert admit(condition(adapter, wrong), DISABLED) == Refusal(ErrorCode.ADAPTER_DISABLED)
        warned = admit(condition(adapter, wrong, by_hand=True), DISABLED)
        assert warned == (DISABLED_WARNING, UNKNOWN_ALIAS_WARNING)

    @given(
        st.sampled_from([*ADAPTER_NAMES, "nonsense"]),
        st.dictionaries(
            st.sampled_from(["target", "expected_status", "path_alias", "window_end", "x"]),
            st.none() | st.text() | st.integers() | st.just("staging") | st.just({"a": []}),
        ),
        st.booleans(),
        st.sampled_from([ENABLED, DISABLED, AdapterRegistry.defaults()]),
    )
    def test_of_anything_answers_without_naming_what_was_sent(
        self, adapter: str, parameters: Arguments, by_hand: bool, registry: AdapterRegistry
    ) -> None:
        found = admit(condition(adapter, parameters, by_hand=by_hand), registry)
        if isinstance(found, Refusal):
            assert all(error.field.startswith("/trigger/parameters") for error in found.errors)
        else:
            assert set(found) <= {DISABLED_WARNING, UNKNOWN_ALIAS_WARNING}


class TestRegistry:
    def test_holds_the_four_by_name_disabled_at_first(self) -> None:
        defaults = AdapterRegistry.defaults()
        assert [adapter.name for adapter in defaults] == list(ADAPTER_NAMES) == sorted(ADAPTER_NAMES)
        assert not any(adapter.enabled for adapter in defaults)
        assert len(defaults) == 4
        assert defaults.get("nonsense") is None

    def test_orders_what_it_is_given(self) -> None:
        assert [adapter.name for adapter in AdapterRegistry(reversed(list(ENABLED)))] == list(ADAPTER_NAMES)

    def test_cannot_be_changed(self) -> None:
        registry: Any = AdapterRegistry.defaults()
        with pytest.raises(AttributeError):
            registry.extra = 1
