"""Whom ``http_health`` trusts: authorities that the environment or the env file names, read once at start."""

import os
from pathlib import Path
from ssl import SSLContext

import pytest

from tests.conftest import MakeService
from tests.probes.conftest import Authority
from tests.probes.peers import Peer, answering, ok, peer
from tests.process.probing import adapters, configure
from tests.service import Service, eventually


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """One that no machine trusts by itself."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def tls(authority: Authority) -> SSLContext:
    """What a peer with a certificate of the authority has."""
    return authority.context()


def tried(service: Service, server: Peer) -> str:
    """What a test of an alias of the peer says."""
    alias = {
        "url": f"https://127.0.0.1:{server.port}/",
        "expected_statuses": [200],
        "max_response_bytes": 1_000,
        "allow_redirects": False,
        "allow_private": True,
    }
    configure(service, "http_health", aliases={"own": alias})
    return adapters(service, "test", "http_health", "own").stdout


def warnings(service: Service) -> list[str]:
    lines = eventually(service.log_lines)
    return [line["message"] for line in lines if line["level"] == "warn"]


@pytest.mark.parametrize("runs", [True, False])
def test_an_authority_of_the_env_file_is_trusted(
    make_service: MakeService, authority: Authority, tls: SSLContext, runs: bool
) -> None:
    service = make_service()
    file = service.root / "remindi.env"
    variables = {name: service.env.pop(name) for name in list(service.env) if name.startswith("REMINDI_")}
    variables["SSL_CERT_FILE"] = str(authority.bundle)
    file.write_text("".join(f"{name}='{value}'\n" for name, value in variables.items()))
    service.arguments = ("--env-file", str(file))
    state = service.root / ".remindi"
    state.mkdir()
    (state / "remindi.env").symlink_to(file)
    with peer(answering(ok()), tls) as server:
        with service:
            if runs:
                assert tried(service, server).startswith("satisfied (")
        if not runs:
            assert tried(service, server).startswith("satisfied (")
        assert warnings(service) == []
        service.env["SSL_CERT_FILE"] = str(service.root / "none.pem")
        assert "not trusted" in tried(service, server), "the environment wins over the file"


def test_an_authority_that_nobody_named_is_not_trusted(service: Service, tls: SSLContext) -> None:
    with peer(answering(ok()), tls) as server:
        assert "an authority that is not trusted." in tried(service, server)


@pytest.mark.parametrize("kind", ["missing", "empty", "folder", "words", "pipe"])
def test_a_file_without_certificates_is_warned_of_and_not_named(
    make_service: MakeService, tmp_path: Path, kind: str
) -> None:
    file = tmp_path / "secret-place"
    match kind:
        case "empty":
            file.touch()
        case "folder":
            file.mkdir()
        case "words":
            file.write_text("secret-words")
        case "pipe":
            os.mkfifo(file)
    folders = f"{tmp_path / 'secret-folder'}:{tmp_path / 'secret-other'}"
    with make_service(env={"SSL_CERT_FILE": str(file), "SSL_CERT_DIR": folders}) as service:
        told = warnings(service)
        assert [line.split()[0] for line in told] == ["SSL_CERT_FILE", "SSL_CERT_DIR"]
        assert "secret" not in service.output()


def test_authorities_that_are_there_are_nothing_to_warn_of(
    make_service: MakeService, authority: Authority, tmp_path: Path
) -> None:
    env = {"SSL_CERT_FILE": str(authority.bundle), "SSL_CERT_DIR": f"{tmp_path / 'none'}:{tmp_path}"}
    with make_service(env=env) as service:
        assert warnings(service) == []
