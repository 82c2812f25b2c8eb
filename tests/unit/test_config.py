"""The environment as contract 17.2 reads it: all faults at once, names and rules, never a value."""

import ipaddress
import logging
import re
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remindi.authorities import Origin
from remindi.config import CLIENT_ONLY, COMPOSE_ONLY, KNOWN_NAMES, VARIABLES, Config, Loaded, Rejected, load
from remindi.logfilter import LEVELS, LogFilter, parse_log_filter

ROOT = Path(__file__).parents[2]
MINIMUM = {
    "REMINDI_OWNER_ID": "owner",
    "REMINDI_MCP_TOKEN": "x" * 16,
    "REMINDI_WEBUI_USERNAME": "admin",
    "REMINDI_WEBUI_PASSWORD": "password",
}


def config(**more: str) -> Config:
    """Load a configuration that must be good."""
    loaded = load({**MINIMUM, **more})
    assert isinstance(loaded, Loaded), loaded
    return loaded.config


def faults(environ: dict[str, str]) -> dict[str, str]:
    """Load a configuration that must be refused, and return the problems by variable."""
    loaded = load(environ)
    assert isinstance(loaded, Rejected)
    assert len({fault.variable for fault in loaded.faults}) == len(loaded.faults)
    return {fault.variable: fault.problem for fault in loaded.faults}


def test_the_minimum_gives_every_default_of_the_table() -> None:
    by_defaults = config(**{row.name: row.default for row in VARIABLES if row.default})
    assert config() == by_defaults
    assert by_defaults == Config(
        owner_id="owner", mcp_token="x" * 16, webui_username="admin", webui_password="password"
    )


def test_the_table_and_the_value_have_the_same_fields() -> None:
    assert [row.attribute for row in VARIABLES] == list(dict.fromkeys(row.attribute for row in VARIABLES))
    # `given` says of all of them whether they were set.
    assert {row.attribute for row in VARIABLES} | {"given"} == {field.name for field in fields(Config)}
    assert len(VARIABLES) == 19


def test_an_empty_environment_is_told_everything_it_lacks_at_once() -> None:
    assert set(faults({})) == set(MINIMUM)


def test_every_fault_is_told_at_once() -> None:
    broken = {
        "REMINDI_DB_PATH": " ",
        "REMINDI_OWNER_ID": "\t",
        "REMINDI_MCP_TOKEN": "short",
        "REMINDI_BACKUP_DIR": "relative",
        "REMINDI_HTTP_ALLOWED_HOSTS": "good, not good",
        "REMINDI_HTTP_ALLOWED_ORIGINS": "https://h/path",
        "REMINDI_TRUSTED_PROXIES": "10.0.0.0/33",
        "REMINDI_LOG_LEVEL": "loud",
        "REMINDI_LOG_CONTENT": "yes",
        "REMINDI_WEBUI_ENABLE": "TRUE",
        "REMINDI_WEBUI_AUTH": "1",
        "REMINDI_WEBUI_SESSION_TTL_SECONDS": "0",
        "REMINDI_WEBUI_COOKIE_SECURE": "",
        "REMINDI_WEBUI_CUSTOM_CSS_FILE": "style.css",
        "REMINDI_WEBUI_LOGO_FILE": "./logo.svg",
        "REMINDI_WEBUI_FAVICON_FILE": "~/icon.ico",
    }
    assert set(faults(broken)) == set(broken)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("REMINDI_MCP_TOKEN", "x" * 15),
        ("REMINDI_MCP_TOKEN", "secret with blanks in it"),
        ("REMINDI_MCP_TOKEN", "sécret-sécret-sécret"),
        ("REMINDI_MCP_TOKEN", "x" * 16 + "\n"),
        ("REMINDI_DB_PATH", "data/remindi.db"),
        ("REMINDI_WEBUI_SESSION_TTL_SECONDS", "31536001"),
        ("REMINDI_WEBUI_SESSION_TTL_SECONDS", "-1"),
        ("REMINDI_WEBUI_SESSION_TTL_SECONDS", "1.5"),
        ("REMINDI_WEBUI_SESSION_TTL_SECONDS", " 60"),
        ("REMINDI_WEBUI_SESSION_TTL_SECONDS", "٦٠"),
        ("REMINDI_WEBUI_SESSION_TTL_SECONDS", "1_000"),
        ("REMINDI_WEBUI_ENABLE", " true"),
        ("REMINDI_LOG_CONTENT", "True"),
        ("REMINDI_HTTP_ALLOWED_HOSTS", "https://h"),
        ("REMINDI_HTTP_ALLOWED_HOSTS", "a@b"),
        ("REMINDI_HTTP_ALLOWED_ORIGINS", "null"),
        ("REMINDI_HTTP_ALLOWED_ORIGINS", "h"),
        ("REMINDI_TRUSTED_PROXIES", "proxy.test"),
        ("REMINDI_WEBUI_TITLE", "not \udcff unicode"),
        ("REMINDI_OWNER_ID", "not \udcff unicode"),
    ],
)
def test_a_value_outside_its_rule_is_refused_by_name_and_never_shown(name: str, value: str) -> None:
    told = faults({**MINIMUM, name: value})
    (row,) = [row for row in VARIABLES if row.name == name]
    # A fixed sentence cannot hold a value.
    assert told == {name: f"must be {row.rule}"} or told == {name: "is not valid UTF-8"}


def test_lists_are_trimmed_normalized_and_freed_of_empty_elements() -> None:
    loaded = config(
        REMINDI_HTTP_ALLOWED_HOSTS=" A.test:80 ,, [0:0::1] ,",
        REMINDI_HTTP_ALLOWED_ORIGINS="HTTPS://A.test,",
        REMINDI_TRUSTED_PROXIES="10.0.0.1, 172.17.0.1/16, ::1",
    )
    assert loaded.allowed_hosts == {"a.test:80", "[::1]"}
    assert loaded.allowed_origins == {Origin("https", "a.test")}
    assert loaded.trusted_proxies == tuple(
        ipaddress.ip_network(text) for text in ("10.0.0.1/32", "172.17.0.0/16", "::1/128")
    )


def test_sign_in_is_required_only_while_webui_and_auth_are_on() -> None:
    bare = {name: MINIMUM[name] for name in ("REMINDI_OWNER_ID", "REMINDI_MCP_TOKEN")}
    assert set(faults(bare)) == {"REMINDI_WEBUI_USERNAME", "REMINDI_WEBUI_PASSWORD"}
    assert set(faults({**MINIMUM, "REMINDI_WEBUI_PASSWORD": "  "})) == {"REMINDI_WEBUI_PASSWORD"}
    assert isinstance(load({**bare, "REMINDI_WEBUI_ENABLE": "false"}), Loaded)
    assert isinstance(load({**bare, "REMINDI_WEBUI_AUTH": "false"}), Loaded)
    assert config(REMINDI_WEBUI_AUTH="false").webui_password == "password"


def test_blank_means_none_for_assets_and_title() -> None:
    loaded = config(REMINDI_WEBUI_LOGO_FILE=" ", REMINDI_WEBUI_TITLE="")
    assert loaded.webui_logo_file is None
    assert loaded.webui_title == "Remindi"


def test_unknown_names_are_named_in_one_warning_with_the_nearest_known_one() -> None:
    loaded = load(
        {**MINIMUM, "REMINDI_MCP_TOKN": "a-secret", "REMINDI_LISTENER_ADDRESS": "0.0.0.0:1", "OTHER": ""}
    )
    assert isinstance(loaded, Loaded)
    (warning,) = loaded.warnings
    assert "REMINDI_MCP_TOKN (nearest known: REMINDI_MCP_TOKEN)" in warning
    assert "REMINDI_LISTENER_ADDRESS" in warning
    assert "a-secret" not in warning
    assert "OTHER" not in warning


def test_names_of_the_compose_file_and_our_own_warn_of_nothing() -> None:
    loaded = load({**MINIMUM, **COMPOSE_ONLY, **CLIENT_ONLY, "PATH": "/bin"})
    assert isinstance(loaded, Loaded)
    assert loaded.warnings == ()


def test_a_hundred_strange_names_still_make_one_line_of_bounded_length() -> None:
    strange = {f"REMINDI_\udcff{number}{'x' * 1_000}": "" for number in range(100)}
    loaded = load({**MINIMUM, **strange})
    assert isinstance(loaded, Loaded)
    (warning,) = loaded.warnings
    assert "80 more" in warning
    assert len(warning) < 6_000
    assert warning.isascii()


def test_secrets_stay_out_of_the_repr() -> None:
    shown = repr(config(REMINDI_MCP_TOKEN="a-token-of-16-or-more"))
    for secret in ("a-token-of-16-or-more", "admin", "password'"):
        assert secret not in shown


@given(st.dictionaries(st.sampled_from(sorted(KNOWN_NAMES)), st.text(max_size=40)))
def test_no_environment_makes_the_reading_raise(environ: dict[str, str]) -> None:
    assert isinstance(load(environ), Loaded | Rejected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("info", LogFilter(logging.INFO)),
        ("WARN", LogFilter(logging.WARNING)),
        ("off", LogFilter(LEVELS["off"])),
        ("trace", LogFilter(5)),
        ("warn, remindi.http=debug", LogFilter(logging.WARNING, (("remindi.http", logging.DEBUG),))),
        ("mcp=off,remindi=trace", LogFilter(logging.INFO, (("mcp", LEVELS["off"]), ("remindi", 5)))),
    ],
)
def test_a_log_filter_is_a_level_and_levels_for_targets(text: str, expected: LogFilter) -> None:
    assert parse_log_filter(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        ",",
        "info,",
        "info,debug",
        "loud",
        "a=b",
        "=info",
        "a=",
        "a=info,a=warn",
        "a b=info",
        "a==info",
    ],
)
def test_a_malformed_log_filter_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_log_filter(text)


@pytest.mark.docs
def test_the_example_file_has_a_block_for_every_variable() -> None:
    blocks = (ROOT / ".env.example").read_text().split("\n\n")
    for row in VARIABLES:
        (block,) = [block for block in blocks if re.search(rf"^#?{row.name}=", block, re.MULTILINE)]
        prose = " ".join(line.removeprefix("# ") for line in block.splitlines() if line.startswith("# "))
        needed = "none; required" if row.required else "none"
        assert row.meaning in prose
        assert f"Default: {row.default or needed}" in prose
        assert f"Rule: {row.rule}" in prose
    for block, others in ((blocks[-2], COMPOSE_ONLY), (blocks[-1], CLIENT_ONLY)):
        for name, default in others.items():
            assert f"#{name}={default}" in block


def test_what_was_set_is_remembered_in_clear_only_where_it_betrays_nothing() -> None:
    told = config(REMINDI_WEBUI_TITLE="Ours", REMINDI_TRUSTED_PROXIES=" ").given
    assert told == {
        **dict.fromkeys(MINIMUM, "set"),
        "REMINDI_WEBUI_TITLE": "Ours",
        "REMINDI_TRUSTED_PROXIES": "",
    }
