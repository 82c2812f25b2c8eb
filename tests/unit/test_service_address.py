"""Which service a command means, and where its secrets come from."""

from pathlib import Path

import pytest

from remindi.cli import exits
from remindi.cli.exits import Refused
from remindi.cli.item_arguments import ListArguments
from remindi.cli.service import Secret, Service, Surroundings, header_value, parse_url, service_of

TOKEN = "REMINDI_MCP_TOKEN"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory and an environment that name nothing."""
    monkeypatch.chdir(tmp_path)
    for name in (TOKEN, "REMINDI_URL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def env_file(folder: Path, text: str, name: str = "remindi.env") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


def arguments(url: str | None = None) -> ListArguments:
    return ListArguments(
        url=url,
        env_file=None,
        zone=None,
        as_json=False,
        limit=1,
        everything=False,
        project=None,
        task=None,
        states=[],
        triggers=[],
        linked_goal=None,
        linked_memory=None,
    )


@pytest.mark.parametrize(
    ("url", "service"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000"),
        ("http://127.0.0.1:8000/mcp", "http://127.0.0.1:8000"),
        ("HTTPS://Remindi.Example.com:443/a/b/", "https://remindi.example.com/a/b"),
        ("https://h/prefix/mcp", "https://h/prefix"),
        ("http://h:80", "http://h"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        (" http://localhost:1 ", "http://localhost:1"),
    ],
)
def test_an_address_is_an_origin_and_a_prefix(url: str, service: str) -> None:
    assert str(parse_url(url)) == service


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:8000",
        "ftp://h",
        "http://",
        "http://user:word@h",
        "http://h?x=1",
        "http://h/#x",
        "http://h/../x",
        "http://h/a b",
        "http://h:99999",
        "http://h\r\nX: 1",
        "http://h/%2e%2e",
    ],
)
def test_what_is_no_address_of_a_service_is_refused(url: str) -> None:
    assert parse_url(url) is None
    with pytest.raises(Refused, match="--url") as refused:
        service_of(arguments(url), Surroundings(None))
    assert refused.value.code == exits.USAGE


def test_the_command_line_wins_over_the_environment_and_that_over_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert str(service_of(arguments(), Surroundings(None))) == "http://127.0.0.1:8000"
    monkeypatch.setenv("REMINDI_URL", "http://there")
    assert str(service_of(arguments(), Surroundings(None))) == "http://there"
    assert str(service_of(arguments("http://here"), Surroundings(None))) == "http://here"
    monkeypatch.setenv("REMINDI_URL", "there")
    with pytest.raises(Refused, match="REMINDI_URL") as refused:
        service_of(arguments(), Surroundings(None))
    assert refused.value.code == exits.CONFIGURATION


def test_the_environment_wins_over_the_file_that_is_named(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = env_file(elsewhere, f"{TOKEN}=of-the-file\n", "named.env")
    assert Surroundings(file).need(TOKEN) == Secret("of-the-file", f"{TOKEN} in {file}")
    monkeypatch.setenv(TOKEN, "of-the-environment")
    assert Surroundings(file).need(TOKEN) == Secret("of-the-environment", f"{TOKEN} in the environment")
    monkeypatch.setenv(TOKEN, "  ")
    assert Surroundings(file).need(TOKEN).value == "of-the-file"


def test_the_file_of_make_serve_is_used_where_it_is(elsewhere: Path) -> None:
    env_file(elsewhere / ".remindi", f"{TOKEN}=of-make-serve\n")
    assert Surroundings(None).need(TOKEN).source == f"{TOKEN} in .remindi/remindi.env"


def test_a_missing_secret_says_where_it_was_looked_for(elsewhere: Path) -> None:
    with pytest.raises(Refused, match=r"there is no \.remindi/remindi\.env here.*--env-file") as refused:
        Surroundings(None).need(TOKEN)
    assert refused.value.code == exits.CONFIGURATION
    env_file(elsewhere / ".remindi", "REMINDI_OWNER_ID=x\n")
    with pytest.raises(Refused, match="does not hold it"):
        Surroundings(None).need(TOKEN)


def test_a_file_that_cannot_be_read_is_told_by_name_and_line(elsewhere: Path) -> None:
    with pytest.raises(Refused, match="cannot be read"):
        Surroundings(elsewhere / "missing").find(TOKEN)
    with pytest.raises(Refused, match="line 1") as refused:
        Surroundings(env_file(elsewhere, "a secret without a name")).find(TOKEN)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("value", ["with space", "line\nbreak", "ü-of-sixteen-chars", "\x7f"])
def test_a_token_that_no_header_can_hold_is_refused_without_being_shown(value: str) -> None:
    with pytest.raises(Refused, match="visible ASCII") as refused:
        header_value(Secret(value, "REMINDI_MCP_TOKEN in x"))
    assert value not in str(refused.value)


def test_a_secret_does_not_show_itself() -> None:
    assert "hidden" not in repr(Secret("hidden", "x"))


def test_a_service_is_named_as_it_is_reached() -> None:
    service = parse_url("http://h:8000/x")
    assert isinstance(service, Service)
    assert str(service.origin) == "http://h:8000"
