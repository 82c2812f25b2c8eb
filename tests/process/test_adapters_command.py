"""``remindi adapters`` as an operator uses it: the service running, stopped, killed, or somebody else's."""

import fcntl
import json
import os
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest

from tests.conftest import MakeService
from tests.process.acts import new_item
from tests.process.shell import Done, in_a_process, remindi
from tests.service import Service, eventually

NOBODY: Final = 65_534
BARE: Final[dict[str, Any]] = {
    "file_exists": {"roots": [], "aliases": {}},
    "http_health": {"aliases": {}},
    "observation_window_ended": {},
    "tcp_reachable": {"aliases": {}},
}
SOCKET: Final = "remindi.sock"

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, or mounts")


def adapters(
    service: Service, *arguments: str, given: str = "", prefix: tuple[str, ...] = (), cwd: Path | None = None
) -> Done:
    """Run the command in the environment of a service; in a process of its own where it is somebody else."""
    if prefix or threading.current_thread() is not threading.main_thread():
        line = ("adapters", *arguments)
        return in_a_process(line, service.env, cwd or service.root, given=given, prefix=prefix)
    return remindi(service, "adapters", *arguments, given=given, cwd=cwd)


def files(root: Path, *, enabled: bool = True) -> str:
    configuration = {
        "type": "file_exists",
        "roots": [str(root)],
        "aliases": {"marker": str(root / "sub" / "marker")},
    }
    return json.dumps({"enabled": enabled, "configuration": configuration})


def shown(service: Service, name: str = "file_exists") -> Any:
    done = adapters(service, "show", name)
    assert done.code == 0, done
    return json.loads(done.out)


def told_of(service: Service, operation: str) -> list[Any]:
    """What the log of a service says of an operation."""
    return [line for line in service.log_lines() if line.get("operation") == operation]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that runs for all tests here."""
    with Service(tmp_path_factory.mktemp("running") / "service") as service:
        yield service


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of a service that has been started once and stopped."""
    with Service(tmp_path_factory.mktemp("state") / "service") as service:
        pass
    return service.data


@pytest.fixture
def stopped(make_service: MakeService, state: Path) -> Service:
    """A service that has been started once and does not run."""
    service = make_service()
    shutil.copytree(state, service.data)
    return service


@pytest.fixture(params=["running", "stopped"])
def service(request: pytest.FixtureRequest) -> Service:
    """A service that has been started once, and that runs or does not; its adapters are disabled and bare."""
    made: Service = request.getfixturevalue(request.param)
    for name in BARE if made.alive() else ():
        configuration = {"type": name, **BARE[name]}
        given = json.dumps({"enabled": False, "configuration": configuration})
        assert adapters(made, "set", name, "--file", "-", given=given).code == 0
    return made


@pytest.fixture
def unstarted(make_service: MakeService) -> Service:
    """An environment whose service has never run."""
    return make_service()


# ------------------------------------------------------- the same, running or not


def test_list_shows_the_four_to_people_and_to_machines(service: Service) -> None:
    done = adapters(service, "list")
    assert (done.code, done.err) == (0, "")
    head, *rows = [line.split() for line in done.out.splitlines()]
    assert head == ["NAME", "ENABLED", "ALIASES", "VERSION", "UPDATED"]
    assert [row[:3] for row in rows] == [[name, "no", "-"] for name in BARE]
    listed = adapters(service, "list", "--json").json()["data"]["adapters"]
    assert [(row["adapter_name"], str(row["version"])) for row in listed] == [
        (row[0], row[3]) for row in rows
    ]


def test_what_show_prints_is_what_set_takes(service: Service) -> None:
    before = shown(service)
    version = before["expected_version"]
    assert before == {
        "enabled": False,
        "configuration": {"type": "file_exists", "roots": [], "aliases": {}},
        "expected_version": version,
    }
    file = service.root / "adapter.json"
    file.write_text(json.dumps(before | {"enabled": True}, indent=2))
    done = adapters(service, "set", "file_exists", "--file", str(file))
    assert (done.code, done.out, done.err) == (
        0,
        f"file_exists is enabled, at version {version + 1}.\n",
        "",
    )
    assert shown(service) == before | {"enabled": True, "expected_version": version + 1}


def test_set_show_edit_and_test_from_alias_to_satisfied(service: Service, tmp_path: Path) -> None:
    root = tmp_path / "watched"
    root.mkdir()
    version = shown(service)["expected_version"] + 1
    done = adapters(service, "set", "file_exists", "--file", "-", given=files(root))
    assert (done.code, done.out) == (0, f"file_exists is enabled, at version {version}, with marker.\n")
    done = adapters(service, "test", "file_exists", "marker")
    assert done.code == 1
    assert done.out.startswith("unsatisfied (")
    (root / "sub").mkdir()
    (root / "sub" / "marker").touch()
    done = adapters(service, "test", "file_exists", "marker")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("satisfied (")
    probe = adapters(service, "test", "file_exists", "marker", "--json").json()["data"]["probe"]
    assert probe.keys() == {"status", "latency_ms", "summary", "observed_at", "adapter_version"}
    assert adapters(service, "list").out.count("marker") == 1


def test_a_disabled_adapter_is_not_probed_and_says_how_to_enable_it(service: Service) -> None:
    adapters(service, "set", "file_exists", "--file", "-", given=files(service.root, enabled=False))
    done = adapters(service, "test", "file_exists", "marker")
    assert done.code == 1
    status, how = done.out.splitlines()
    assert status.startswith("unknown (")
    assert "remindi adapters set file_exists --file" in how


def test_a_refusal_has_a_line_for_each_fault_with_field_and_rule(service: Service) -> None:
    before = shown(service, "http_health")
    alias = {"url": "http://x.example", "expected_statuses": [], "max_response_bytes": 1}
    given = {"enabled": True, "configuration": {"type": "http_health", "aliases": {"api": alias}}}
    done = adapters(service, "set", "http_health", "--file", "-", given=json.dumps(given))
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines() == [
        "remindi: configuration.aliases.api.allow_redirects: is missing; it must be true or false",
        "remindi: configuration.aliases.api.allow_private: is missing; it must be true or false",
    ]
    alias |= {"allow_redirects": False, "allow_private": False}
    done = adapters(service, "set", "http_health", "--file", "-", given=json.dumps(given))
    assert [line.partition(":")[2].split(": must be ")[0] for line in done.err.splitlines()] == [
        " configuration.aliases.api.url",
        " configuration.aliases.api.expected_statuses",
    ]
    assert shown(service, "http_health") == before


def test_a_root_that_is_not_there_is_refused_by_its_place_and_path(service: Service) -> None:
    before = shown(service)
    missing = service.root / "missing"
    configuration = {"type": "file_exists", "roots": [str(service.root), str(missing)], "aliases": {}}
    given = json.dumps({"enabled": True, "configuration": configuration})
    done = adapters(service, "set", "file_exists", "--file", "-", given=given)
    assert done.code == 1
    assert done.err == (
        f"remindi: configuration.roots, entry 2 ({missing}):"
        " must be the absolute path of a directory that is there and that the service may enter\n"
    )
    assert shown(service) == before
    if service.alive():
        assert str(missing) not in json.dumps(service.log_lines())


def test_an_alias_that_a_symbolic_link_leads_out_of_the_roots_is_told_of_links(
    service: Service, tmp_path: Path
) -> None:
    root = tmp_path / "watched"
    root.mkdir()
    (root / "sub").symlink_to(tmp_path)
    done = adapters(service, "set", "file_exists", "--file", "-", given=files(root))
    assert done.code == 1
    assert done.err.startswith("remindi: configuration.aliases.marker: must be an absolute path")
    assert "symbolic links" in done.err


def test_a_private_address_is_not_probed_and_says_how_to_allow_it(service: Service) -> None:
    alias = {"host": "127.0.0.1", "port": 9, "allow_private": False}
    given = {"enabled": True, "configuration": {"type": "tcp_reachable", "aliases": {"near": alias}}}
    adapters(service, "set", "tcp_reachable", "--file", "-", given=json.dumps(given))
    done = adapters(service, "test", "tcp_reachable", "near")
    assert done.code == 1
    status, how = done.out.splitlines()
    assert status.endswith("the alias does not allow private addresses.")
    assert '"allow_private": true' in how
    alias["host"] = "169.254.169.254"
    adapters(service, "set", "tcp_reachable", "--file", "-", given=json.dumps(given))
    (status,) = adapters(service, "test", "tcp_reachable", "near").out.splitlines()
    assert "no alias may reach" in status


def test_a_stale_version_is_told_what_to_do(service: Service) -> None:
    version = shown(service)["expected_version"]
    given = json.dumps(json.loads(files(service.root)) | {"expected_version": version + 6})
    done = adapters(service, "set", "file_exists", "--file", "-", given=given)
    assert done.code == 1
    assert done.err == (
        f"remindi: file_exists has changed since and is at version {version} now; nothing was set."
        " Show it again, edit that, and set it.\n"
    )
    done = adapters(service, "set", "file_exists", "--file", "-", "--json", given=given)
    assert done.json()["error"]["details"] == {"current_version": version}


@pytest.mark.parametrize("action", [("show",), ("test", "x"), ("set", "--file", "-")])
def test_an_unknown_adapter_is_named_with_those_there_are(service: Service, action: tuple[str, ...]) -> None:
    command, *rest = action
    arguments = (command, "telepathy", *rest)
    done = adapters(service, *arguments, given=files(service.root))
    assert (done.code, done.out) == (1, "")
    assert "there is no adapter telepathy; there are file_exists, http_health" in done.err


def test_an_unknown_alias_is_named_with_those_there_are(service: Service) -> None:
    adapters(service, "set", "file_exists", "--file", "-", given=files(service.root))
    done = adapters(service, "test", "file_exists", "other")
    assert (done.code, done.err) == (1, "remindi: file_exists has no alias other; it has marker\n")
    as_json = adapters(service, "test", "file_exists", "other", "--json")
    assert (as_json.code, as_json.err) == (done.code, done.err)
    assert as_json.json()["error"]["details"]["errors"] == [{"field": "/alias", "reason": "unknown_alias"}]
    done = adapters(service, "test", "http_health", "other")
    assert (done.code, done.err) == (1, "remindi: http_health has no alias other; it has none\n")
    done = adapters(service, "test", "observation_window_ended", "other")
    assert done.code == 1
    assert done.err == (
        "remindi: observation_window_ended has no aliases, so there is nothing to test;"
        " enabled is all that it is set to\n"
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "is no JSON: line 1, column 1."),
        ('{"enabled": true,\n}', "is no JSON: line 2, column 1."),
        ('{"a": 1, "a": 2}', "is no JSON: a name twice."),
        ("[" * 100 + "]" * 100, "is no JSON: nested too deeply."),
        (" " * 1_000_001, "is larger than 1000000 bytes."),
    ],
)
def test_a_broken_file_is_refused_where_it_breaks(unstarted: Service, text: str, line: str) -> None:
    done = adapters(unstarted, "set", "file_exists", "--file", "-", given=text)
    assert (done.code, done.out, done.err) == (1, "", f"remindi: standard input {line}\n")


def test_a_file_without_an_object_is_told_what_belongs_there(stopped: Service) -> None:
    done = adapters(stopped, "set", "file_exists", "--file", "-", given="[]")
    assert done.code == 1
    assert done.err == "remindi: the file must hold one JSON object with enabled and configuration\n"


def test_a_file_that_is_not_there_is_named(unstarted: Service) -> None:
    done = adapters(unstarted, "set", "file_exists", "--file", "missing.json")
    assert (done.code, done.err) == (73, "remindi: missing.json cannot be read: No such file or directory.\n")


def test_the_wrong_command_line_is_a_usage_error(unstarted: Service) -> None:
    for arguments in ((), ("set", "file_exists"), ("show",), ("test", "file_exists"), ("remove", "x")):
        assert adapters(unstarted, *arguments).code == 2


# ----------------------------------------------------------------------- running


def test_what_is_set_is_in_force_for_the_next_request(running: Service) -> None:
    item = new_item("now") | {
        "trigger": {"type": "condition", "adapter": "file_exists", "parameters": {"path_alias": "marker"}}
    }
    given = {enabled: files(running.root, enabled=enabled) for enabled in (False, True)}
    assert adapters(running, "set", "file_exists", "--file", "-", given=given[False]).code == 0
    assert running.call("remindi_add", item)["error"]["code"] == "ADAPTER_DISABLED"
    assert adapters(running, "set", "file_exists", "--file", "-", given=given[True]).code == 0
    assert running.call("remindi_add", item)["ok"]


def test_two_who_set_the_same_version_are_told_apart(service: Service) -> None:
    version = shown(service)["expected_version"]
    given = json.dumps(json.loads(files(service.root)) | {"expected_version": version})
    with ThreadPoolExecutor(2) as threads:
        both = [
            threads.submit(adapters, service, "set", "file_exists", "--file", "-", given=given)
            for _ in range(2)
        ]
    ends = sorted((done.result() for done in both), key=lambda done: done.code)
    assert [done.code for done in ends] == [0, 1]
    assert f"at version {version + 1} now; nothing was set" in ends[1].err


def test_it_never_writes_beside_a_running_service(make_service: MakeService) -> None:
    with make_service() as service:
        adapters(service, "set", "file_exists", "--file", "-", given=files(service.root))
        (line,) = eventually(lambda: told_of(service, "update_adapter"))
        assert (line["code"], line["adapter_name"]) == ("OK", "file_exists")
        adapters(service, "test", "file_exists", "a-name-of-an-alias")
        adapters(service, "show", "a-name-of-nothing")
        (tried,) = eventually(lambda: told_of(service, "try_alias"))
        # The first was asked for by the set.
        eventually(lambda: len(told_of(service, "get_adapter")) == 3)
        _, row, nothing = told_of(service, "get_adapter")
        assert [tried["adapter_name"], row["adapter_name"]] == ["file_exists"] * 2
        assert nothing["adapter_name"] == "unknown"
        assert "a-name" not in json.dumps([tried, row, nothing])
        with closing(sqlite3.connect(service.database)) as database:
            rows = database.execute("SELECT type, actor, request_id, outcome, details FROM audit").fetchall()
        details = '{"adapter_name": "file_exists"}'
        assert rows == [
            ("adapter_config_updated", "operator:local", line["request_id"], "succeeded", details)
        ]
        assert str(service.root) not in json.dumps(line)


def test_the_socket_is_private_and_gone_after_the_stop(make_service: MakeService) -> None:
    service = make_service()
    with service:
        mode = (service.data / SOCKET).stat().st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600
    assert {path.name for path in service.data.iterdir()} == {"remindi.db", "remindi.lock"}


def test_after_a_kill_the_command_works_alone_and_the_next_start_takes_the_place(
    make_service: MakeService,
) -> None:
    service = make_service()
    service.start()
    service.call("remindi_add", new_item("killed"))
    service.kill()
    assert (service.data / SOCKET).exists()
    assert adapters(service, "set", "file_exists", "--file", "-", given=files(service.root)).code == 0
    with service:
        assert shown(service)["expected_version"] == 2
        assert eventually(lambda: told_of(service, "get_adapter"))
        assert service.call("remindi_list", {"project_id": "killed"})["data"]["items"]


def test_a_data_directory_with_a_long_path_has_a_socket_too(make_service: MakeService) -> None:
    service = make_service()
    deep = service.root / ("d" * 100) / ("e" * 100)
    service.env["REMINDI_DB_PATH"] = str(deep / "remindi.db")
    with service:
        assert (deep / SOCKET).is_socket()
        assert adapters(service, "list").code == 0
        assert eventually(lambda: told_of(service, "list_adapters"))


def test_where_no_socket_can_be_made_the_service_warns_once_and_runs(make_service: MakeService) -> None:
    service = make_service()
    blocked = service.data / SOCKET
    (blocked / "inside").mkdir(parents=True)
    service.data.chmod(0o700)
    with service:
        (warning,) = [line for line in service.log_lines() if line["level"] == "warn"]
        assert "no operator socket" in warning["message"]
        assert service.call("remindi_add", new_item("without"))["ok"]


def test_a_stop_waits_for_no_connection_on_which_nothing_was_asked(make_service: MakeService) -> None:
    service = make_service()
    service.start()
    with dialled(service) as idle:
        said(service, b'{"operation":"list_adapters","arguments":{}}\n')
        assert service.stop(signal.SIGTERM) == 0
        assert idle.recv(1) == b""
    assert [line for line in service.log_lines() if line["level"] in ("warn", "error")] == []


def test_a_stop_cuts_off_a_probe_that_hangs_and_the_command_says_so(make_service: MakeService) -> None:
    service = make_service()
    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor(1) as threads:
        alias = {
            "url": f"https://127.0.0.1:{silent.getsockname()[1]}/",
            "expected_statuses": [200],
            "max_response_bytes": 1,
            "allow_redirects": False,
            "allow_private": True,
        }
        given = {"enabled": True, "configuration": {"type": "http_health", "aliases": {"silent": alias}}}
        service.start()
        with closing(sqlite3.connect(service.database)) as database:
            database.execute("UPDATE setting SET value = 60 WHERE key = 'adapters.timeout_seconds'")
            database.commit()
        assert adapters(service, "set", "http_health", "--file", "-", given=json.dumps(given)).code == 0
        trying = threads.submit(adapters, service, "test", "http_health", "silent")
        silent.settimeout(30)
        connection, _ = silent.accept()
        with connection:
            assert service.stop(signal.SIGTERM, within=10) == 0
            done = trying.result(30)
    assert (done.code, done.out) == (1, "")
    assert "ended before it answered" in done.err


# ------------------------------------------------------------------ the protocol


@contextmanager
def dialled(service: Service) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(30)
        descriptor = os.open(service.data, os.O_PATH)
        try:
            connection.connect(f"/proc/self/fd/{descriptor}/{SOCKET}")
        finally:
            os.close(descriptor)
        yield connection


def said(service: Service, line: bytes) -> Any:
    with dialled(service) as connection:
        # A service that refuses at once has gone before all was sent.
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(line)
        with connection.makefile("rb") as incoming:
            return json.loads(incoming.readline())


def test_what_is_no_json_line_is_answered_and_the_service_goes_on(running: Service) -> None:
    for line in (
        b"\n",
        b"hello\n",
        b"\xff\xfe\n",
        b'{"operation": NaN}\n',
        b"[" * 70 + b"]" * 70 + b"\n",
    ):
        error = said(running, line)["error"]
        assert (error["code"], error["details"]) == (
            "VALIDATION_ERROR",
            {"errors": [{"field": "", "reason": "json"}]},
        )
    assert said(running, b"1" * 1_100_000)["error"]["code"] == "LIMIT_EXCEEDED"
    assert said(running, b'{"operation":"list_adapters","arguments":{}}\n')["ok"]


def test_those_who_hold_connections_cost_the_service_nothing_and_the_ninth_is_told(running: Service) -> None:
    with ExitStack() as held:
        for _ in range(8):
            held.enter_context(dialled(running))
        refusal = eventually(lambda: said(running, b'{"operation":"list_adapters","arguments":{}}\n'))
        assert refusal["error"]["code"] == "LIMIT_EXCEEDED"
        assert running.call("remindi_add", new_item("held"))["ok"]
    eventually(lambda: adapters(running, "list").code == 0)


# ----------------------------------------------------------------------- stopped


def test_a_stopped_service_is_left_as_it_was_found(stopped: Service) -> None:
    assert adapters(stopped, "list").code == 0
    assert {path.name for path in stopped.data.iterdir()} == {"remindi.db", "remindi.lock"}
    with stopped:
        assert stopped.call("remindi_add", new_item("after"))["ok"]


def test_no_database_is_made(make_service: MakeService) -> None:
    service = make_service()
    done = adapters(service, "list")
    assert done.code == 73
    assert str(service.database) in done.err
    assert "--env-file" in done.err
    assert not service.data.exists()


def test_somebody_else_who_holds_the_directory_is_told_of(
    stopped: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remindi.cli.operator._PATIENCE_SECONDS", 0.2)
    with (stopped.data / "remindi.lock").open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = adapters(stopped, "list")
    assert done.code == 75
    (line,) = done.err.splitlines()
    assert "does not listen on remindi.sock" in line
    assert str(stopped.data) in line


def test_a_damaged_database_is_refused_after_an_unclean_stop(make_service: MakeService) -> None:
    service = make_service()
    service.start()
    service.kill()
    content = bytearray(service.database.read_bytes())
    with closing(sqlite3.connect(service.database)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(service.database.read_bytes())
    content[4096 * 3 : 4096 * 6] = b"\xff" * 4096 * 3
    service.database.write_bytes(bytes(content))
    service.database.with_name("remindi.db-wal").write_bytes(b"x")
    done = adapters(service, "list")
    assert done.code == 65
    assert done.err.startswith("remindi: ")


def test_a_newer_schema_is_refused_as_at_a_start(stopped: Service) -> None:
    with closing(sqlite3.connect(stopped.database)) as database:
        database.executescript("INSERT INTO migration VALUES (4711, '4711_later.sql', 'x', 0)")
    done = adapters(stopped, "list")
    assert done.code == 76
    assert "4711" in done.err


def test_faults_of_the_environment_are_told_as_at_a_start(unstarted: Service) -> None:
    del unstarted.env["REMINDI_MCP_TOKEN"]
    done = adapters(unstarted, "list")
    assert done.code == 78
    first, *others = done.err.splitlines()
    assert first == "remindi: Name the env file of the service with --env-file."
    assert [line.split()[1] for line in others] == ["REMINDI_MCP_TOKEN"]


def test_what_leads_to_the_data_is_enough(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REMINDI_WEBUI_USERNAME", "REMINDI_WEBUI_PASSWORD"):
        monkeypatch.delitem(service.env, name)
    monkeypatch.setitem(service.env, "REMINDI_LOG_LEVEL", "no such level")
    assert adapters(service, "list").code == 0


def test_options_may_stand_before_the_action_too(stopped: Service) -> None:
    file = stopped.root / "remindi.env"
    file.write_text("".join(f"{name}={value}\n" for name, value in stopped.env.items() if "REMINDI_" in name))
    for name in [name for name in stopped.env if "REMINDI_" in name]:
        del stopped.env[name]
    for arguments in (
        ("--env-file", str(file), "--json", "list"),
        ("list", "--json", "--env-file", str(file)),
        ("--env-file", "missing.env", "--json", "list", "--env-file", str(file)),
    ):
        done = adapters(stopped, *arguments)
        assert (done.code, done.json()["ok"]) == (0, True)


def test_the_env_file_of_make_serve_is_found_from_the_checkout(tmp_path: Path) -> None:
    made = tmp_path / "checkout"
    made.mkdir()
    subprocess.run([sys.executable, "-m", "remindi", "init"], cwd=made, check=True, capture_output=True)
    service = Service(tmp_path / "run", arguments=("--env-file", str(made / ".remindi" / "remindi.env")))
    for name in [name for name in service.env if name.startswith("REMINDI_")]:
        del service.env[name]
    with service:
        assert adapters(service, "list", cwd=made).code == 0
        assert eventually(lambda: told_of(service, "list_adapters"))
    named = str(made / ".remindi" / "remindi.env")
    assert adapters(service, "list", "--env-file", named).code == 0
    elsewhere = adapters(service, "list")
    assert elsewhere.code == 78
    assert "--env-file" in elsewhere.err


def test_a_broken_env_file_is_named(unstarted: Service) -> None:
    file = unstarted.root / "broken.env"
    file.write_text("not a variable\n")
    done = adapters(unstarted, "list", "--env-file", str(file))
    assert done.code == 78
    assert "broken.env, line 1" in done.err


BECOME_NOBODY: Final = (
    *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--bounding-set=-all", "--"),
)
WHO: Final = f"permission denied. Run this as the user of the service; this is uid {NOBODY}.\n"


@needs_root
@pytest.mark.parametrize("runs", [True, False])
def test_another_user_is_told_whose_it_is(make_service: MakeService, runs: bool) -> None:
    service = make_service()
    service.start()
    if not runs:
        service.stop()
    done = adapters(service, "list", prefix=BECOME_NOBODY, cwd=Path("/"))
    assert (done.code, done.err) == (
        73,
        f"remindi: {service.database} (REMINDI_DB_PATH) cannot be used: {WHO}",
    )
    if runs:
        service.stop()


@pytest.fixture
def checkout(unstarted: Service) -> Iterator[Path]:
    """A folder that everybody may enter, with a state as `make serve` makes it, which its user alone may."""
    for name in [name for name in unstarted.env if name.startswith("REMINDI_")]:
        del unstarted.env[name]
    with TemporaryDirectory(prefix="remindi-test-") as folder:
        Path(folder).chmod(0o755)
        subprocess.run(
            [sys.executable, "-m", "remindi", "init"],
            cwd=folder,
            env=unstarted.env | {"PYTHONPATH": str(Path(__file__).parents[2])},
            check=True,
            capture_output=True,
        )
        yield Path(folder)


@needs_root
@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_an_env_file_of_another_user_is_told_whether_it_is_named_or_found(
    unstarted: Service, checkout: Path, mode: int
) -> None:
    (checkout / ".remindi").chmod(mode)
    file = Path(".remindi", "remindi.env")
    done = adapters(unstarted, "list", prefix=BECOME_NOBODY, cwd=checkout)
    assert (done.code, done.err) == (78, f"remindi: {file}: cannot be read: {WHO}")
    done = adapters(unstarted, "list", "--env-file", str(checkout / file), prefix=BECOME_NOBODY)
    assert (done.code, done.err) == (78, f"remindi: {checkout / file}: cannot be read: {WHO}")


@needs_root
def test_root_enters_a_service_of_another_user_while_it_runs_and_leaves_its_files_alone() -> None:
    with TemporaryDirectory(prefix="remindi-test-") as folder:
        Path(folder).chmod(0o755)
        service = Service(Path(folder) / "service", prefix=BECOME_NOBODY)
        for place in (service.root, service.root / "tmp"):
            os.chown(place, NOBODY, NOBODY)
        with service:
            assert adapters(service, "list").code == 0
        before = set(service.data.iterdir())
        done = adapters(service, "list")
        assert (done.code, done.err) == (
            73,
            f"remindi: {service.data} (REMINDI_DB_PATH) belongs to uid {NOBODY}: run this as uid {NOBODY}.\n",
        )
        assert {path: path.stat().st_uid for path in service.data.iterdir()} == dict.fromkeys(before, NOBODY)


@needs_root
def test_a_read_only_file_system_is_told(stopped: Service) -> None:
    mount = (
        *("unshare", "--mount", "sh", "-c"),
        'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"',
        str(stopped.data),
    )
    done = adapters(stopped, "list", prefix=mount)
    assert done.code == 73
    assert str(stopped.data) in done.err
    assert adapters(stopped, "list").code == 0
