"""Certificates for peers: an authority of the test run's own, which the probes trust."""

import datetime
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from actors.probes.tls import client_context

NAME = "peer.example"
"""What the certificates of peers are issued for, apart from loopback addresses."""


class Authority:
    """Makes what peers identify themselves with."""

    def __init__(self, folder: Path) -> None:
        self._trusted = trustme.CA()
        self._stranger = trustme.CA()
        self.bundle = folder / "authority.pem"
        self._trusted.cert_pem.write_to_path(str(self.bundle))

    def context(self, *names: str, year: int | None = None, trusted: bool = True) -> ssl.SSLContext:
        """A server's side of TLS, with a certificate for these names; of one year only, if it is given."""
        issuer = self._trusted if trusted else self._stranger
        begin = None if year is None else datetime.datetime(year, 1, 1, tzinfo=datetime.UTC)
        end = None if year is None else datetime.datetime(year, 12, 31, tzinfo=datetime.UTC)
        certificate = issuer.issue_cert(
            *(names or (NAME, "127.0.0.1", "::1")), not_before=begin, not_after=end
        )
        return _serving(certificate)

    def context_signed_by_itself(self) -> ssl.SSLContext:
        """A server's side of TLS, with a certificate that no other vouches for."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with self._stranger.cert_pem.tempfile() as file, self._stranger.private_key_pem.tempfile() as key:
            context.load_cert_chain(file, key)
        return context

    def context_in_prose(self, name: str) -> ssl.SSLContext:
        """A server's side of TLS, with a certificate that has the name as its common name only."""
        return _serving(self._trusted.issue_cert(common_name=name))

    def write(self, to: Path, *names: str) -> None:
        """A key and a good certificate for these names, for a server in a process of its own."""
        self._trusted.issue_cert(*names).private_key_and_cert_chain_pem.write_to_path(str(to))


def _serving(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Make keys once."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def tls(authority: Authority) -> ssl.SSLContext:
    """What a peer with a good certificate has."""
    return authority.context()


@pytest.fixture(autouse=True)
def trust(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Trust the authority as an operator would: by the environment of the process."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.bundle))
    client_context.cache_clear()
    yield
    client_context.cache_clear()


@pytest.fixture
def free_port() -> Iterator[int]:
    """A port of loopback where nobody listens, kept so that nobody else gets it."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]
