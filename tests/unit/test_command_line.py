"""The command line: what may be said, what init makes, what schema compares, which codes it ends with."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from remindi import __version__
from remindi.__main__ import main
from remindi.cli import exits
from remindi.cli.arguments import (
    InitArguments,
    ListAdaptersArguments,
    SchemaArguments,
    ServeArguments,
    SetAdapterArguments,
    ShowAdapterArguments,
    TryAliasArguments,
    VersionArguments,
    parse,
)
from remindi.cli.envfile import read_env_file
from remindi.config import VARIABLES, Loaded, load
from remindi.inputs.adapters import AdapterUpdate, read_adapter_update

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["serve"], ServeArguments("127.0.0.1", 8000, None)),
        (
            ["serve", "--host", "::1", "--port", "0", "--env-file", "a.env"],
            ServeArguments("::1", 0, Path("a.env")),
        ),
        (["init"], InitArguments(Path(".remindi"), Path(".remindi/remindi.env"))),
        (["init", "--dir", "d"], InitArguments(Path("d"), Path("d/remindi.env"))),
        (["init", "--dir", "d", "--env-file", "e"], InitArguments(Path("d"), Path("e"))),
        (["init", "--port", "8011"], InitArguments(Path(".remindi"), Path(".remindi/remindi.env"), 8011)),
        (["schema", "--write"], SchemaArguments(write=True)),
        (["schema", "--check"], SchemaArguments(write=False)),
        (["version"], VersionArguments()),
        (["adapters", "list"], ListAdaptersArguments(env_file=None, as_json=False)),
        (
            ["adapters", "list", "--json", "--env-file", "a.env"],
            ListAdaptersArguments(env_file=Path("a.env"), as_json=True),
        ),
        (["adapters", "show", "n"], ShowAdapterArguments(env_file=None, as_json=False, name="n")),
        (
            ["adapters", "set", "n", "--file", "-"],
            SetAdapterArguments(env_file=None, as_json=False, name="n", file=Path("-")),
        ),
        (
            ["adapters", "test", "n", "a"],
            TryAliasArguments(env_file=None, as_json=False, name="n", alias="a"),
        ),
        (
            ["adapters", "--env-file", "a.env", "--json", "list"],
            ListAdaptersArguments(env_file=Path("a.env"), as_json=True),
        ),
    ],
)
def test_each_command_has_its_arguments(argv: list[str], expected: object) -> None:
    assert parse(argv) == expected


@pytest.mark.parametrize(
    "argv",
    [
        ["nonsense"],
        ["serve", "--port", "65536"],
        ["serve", "--port", "-1"],
        ["serve", "--port", "eight"],
        ["serve", "--port", "٨٠"],
        ["serve", "--po", "1"],
        ["serve", "extra"],
        ["schema"],
        ["schema", "--write", "--check"],
        ["version", "--loud"],
        ["adapters"],
        ["adapters", "remove", "n"],
        ["adapters", "list", "n"],
        ["adapters", "show"],
        ["adapters", "set", "n"],
        ["adapters", "set", "--file", "f"],
        ["adapters", "test", "n"],
        ["adapters", "list", "--js"],
        ["adapters", "list", "--env-file="],
        ["adapters", "--env-file", "", "list"],
        ["adapters", "set", "n", "--file="],
        ["serve", "--env-file="],
    ],
)
def test_a_wrong_command_line_ends_with_the_usage_code_and_points_to_help(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(argv)
    assert ended.value.code == exits.USAGE
    told = capsys.readouterr()
    assert told.out == ""
    assert "--help" in told.err


@pytest.mark.parametrize(
    ("argv", "help_of"),
    [
        (["adapters", "list", "n"], "remindi adapters list"),
        (["adapters", "set", "n"], "remindi adapters set"),
        (["adapters", "test", "n", "a", "--loud"], "remindi adapters test"),
        (["adapters", "remove"], "remindi adapters"),
        (["serve", "extra"], "remindi serve"),
        (["nonsense"], "remindi"),
    ],
)
def test_a_fault_points_to_the_help_of_what_was_called(
    argv: list[str], help_of: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse(argv)
    assert capsys.readouterr().err.endswith(f"Try '{help_of} --help'.\n")


def test_the_help_of_adapters_says_where_the_configuration_is_sought_and_what_a_file_holds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for argv in (["adapters", "--help"], ["adapters", "set", "--help"]):
        with pytest.raises(SystemExit):
            parse(argv)
    shown = " ".join(capsys.readouterr().out.split())
    assert "--env-file, else .remindi/remindi.env in the current directory" in shown
    example = json.loads(shown[shown.index("{") : shown.rindex("}") + 1])
    update = read_adapter_update("tcp_reachable", example | {"expected_version": 1})
    assert isinstance(update, AdapterUpdate), update


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == exits.OK
    assert capsys.readouterr().out == f"remindi {__version__}\n"


def test_version_and_help_load_no_server() -> None:
    program = "import sys; from remindi.__main__ import main; main(['version']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, timeout=60, check=True
    )
    assert not {"mcp", "uvicorn", "apsw", "pykka"} & set(done.stdout.split())


def test_the_exit_codes_are_one_table_in_order_without_repeats() -> None:
    codes = [row.code for row in exits.EXITS]
    assert codes == sorted(set(codes))
    for row in exits.EXITS:
        assert getattr(exits, row.name) == row.code


@pytest.mark.parametrize("row", exits.EXITS[1:])
def test_what_a_command_refuses_itself_has_the_shape_of_a_refusal(row: exits.Exit) -> None:
    envelope = exits.Refused(row.code, "No.").envelope()
    assert (envelope["ok"], envelope["request_id"]) == (False, None)
    assert envelope["error"] == {
        "code": row.name,
        "message": "No.",
        "retryable": row.name in ("UNAVAILABLE", "RUNNING"),
    }


def test_a_refusal_on_the_spot_is_one_line_for_people_and_one_for_scripts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    missing = str(tmp_path / "missing.env")
    for command in (("list",), ("status",), ("adapters", "list")):
        for name in [name for name in os.environ if name.startswith("REMINDI_")]:
            monkeypatch.delenv(name)
        assert main([*command, "--env-file", missing, "--json"]) == exits.CONFIGURATION
        told = capsys.readouterr()
        assert told.err == f"remindi: {missing}: cannot be read: no such file or directory.\n"
        assert json.loads(told.out)["error"]["code"] == "CONFIGURATION"


def test_help_shows_every_exit_code_and_every_variable(capsys: pytest.CaptureFixture[str]) -> None:
    for argv in (["--help"], ["serve", "--help"]):
        with pytest.raises(SystemExit) as ended:
            parse(argv)
        assert ended.value.code == 0
    shown = capsys.readouterr().out
    for row in exits.EXITS:
        assert f"{row.code:>3}  {row.meaning}" in shown
    for variable in VARIABLES:
        assert f"{variable.name} (" in shown


# ------------------------------------------------------------------------- init


def mode(path: Path) -> int:
    """Return the permission bits of a path."""
    return stat.S_IMODE(path.stat().st_mode)


def test_init_makes_a_private_state_that_serve_accepts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    previous = os.umask(0)
    try:
        assert main(["init", "--dir", str(tmp_path / "state")]) == exits.OK
    finally:
        os.umask(previous)
    state = tmp_path / "state"
    assert [mode(state), mode(state / "data"), mode(state / "backups")] == [0o700] * 3
    assert mode(state / "remindi.env") == 0o600
    values = read_env_file(state / "remindi.env")
    loaded = load(values)
    assert isinstance(loaded, Loaded)
    assert loaded.warnings == ()
    assert loaded.config.db_path == str(state / "data" / "remindi.db")
    assert loaded.config.backup_dir == str(state / "backups")
    told = capsys.readouterr().out
    for name in ("REMINDI_MCP_TOKEN", "REMINDI_WEBUI_PASSWORD"):
        assert len(values[name]) >= 32
        assert values[name] not in told
    assert "http://127.0.0.1:8000/mcp" in told
    assert str(state / "remindi.env") in told


def test_init_names_its_port_wherever_it_matters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--dir", str(tmp_path / "state"), "--port", "8011"]) == exits.OK
    told = capsys.readouterr().out
    assert f"serve --port 8011 --env-file {tmp_path}" in told
    assert "http://127.0.0.1:8011/mcp" in told
    assert "8000" not in told


def test_init_makes_new_secrets_each_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert main(["init", "--dir", str(tmp_path / name)]) == exits.OK
    one, two = (read_env_file(tmp_path / name / "remindi.env") for name in ("one", "two"))
    for name in ("REMINDI_MCP_TOKEN", "REMINDI_WEBUI_PASSWORD", "REMINDI_OWNER_ID"):
        assert one[name] != two[name]


def output_of(command: str) -> str:
    """Run a shell command as a reader of the instructions does."""
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def test_the_printed_commands_take_the_token_from_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "a state with 'quotes'"
    assert main(["init", "--dir", str(state)]) == exits.OK
    token = read_env_file(state / "remindi.env")["REMINDI_MCP_TOKEN"]
    told = capsys.readouterr().out
    header = next(line for line in told.splitlines() if line.lstrip().startswith("--header")).strip()
    echo = header.removeprefix("--header").removesuffix("\\")
    done = subprocess.run(
        ["sh", "-c", f"echo {echo}"], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == f"Authorization: Bearer {token}\n"
    (line,) = [line for line in told.splitlines() if line.strip().startswith("sed")]
    assert output_of(line.removesuffix("|")) == f"Authorization: Bearer {token}\n"


def test_init_never_overwrites(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "remindi.env"
    file.write_text("mine")
    assert main(["init", "--dir", str(tmp_path)]) == exits.DATA_DIRECTORY
    assert "exists already; nothing was changed" in capsys.readouterr().err
    assert file.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [file]


def test_init_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "remindi.env").symlink_to(tmp_path / "elsewhere")
    assert main(["init", "--dir", str(tmp_path)]) == exits.DATA_DIRECTORY
    assert not (tmp_path / "elsewhere").exists()


def test_init_hides_no_database_behind_a_new_owner(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "remindi.db").write_bytes(b"")
    assert main(["init", "--dir", str(tmp_path)]) == exits.DATA_DIRECTORY
    assert "owner id" in capsys.readouterr().err
    assert not (tmp_path / "remindi.env").exists()


def test_init_says_what_it_could_not_make(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["init", "--dir", str(tmp_path / "file" / "state")]) == exits.DATA_DIRECTORY
    assert "Not a directory" in capsys.readouterr().err


def test_a_path_that_no_env_file_can_hold_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", "--dir", str(tmp_path / "line\nbreak")]) == exits.USAGE
    assert "cannot stand in an env file" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


# ----------------------------------------------------------------------- schema


def test_schema_compares_and_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("schema.__path__", [str(tmp_path)])
    (tmp_path / "tools").mkdir()
    assert main(["schema", "--check"]) == exits.FAILED
    assert "remindi_add.json: not as the code says" in capsys.readouterr().err
    assert main(["schema", "--write"]) == exits.OK
    assert main(["schema", "--check"]) == exits.OK
    (tmp_path / "tools" / "surplus.json").write_text("{}")
    assert main(["schema", "--check"]) == exits.FAILED
    assert "surplus.json" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [[], ["--help"]])
def test_no_command_shows_the_help(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(argv)
    assert ended.value.code == exits.OK
    assert "serve" in capsys.readouterr().out


def test_the_version_is_also_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(["--version"])
    assert ended.value.code == exits.OK
    assert capsys.readouterr().out.startswith("remindi ")
