"""TLS: whom a probe trusts, and sockets that keep to its deadline, however slowly a peer answers."""

import socket
import ssl
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import certifi

from actors.probes.looking import Deadline, DeadlineReached, Outcome
from actors.probes.outcomes import Settled
from remindi.items import ConditionStatus

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

NO_TLS: Final = Outcome(ConditionStatus.ERROR, "The peer does not speak TLS.")
TLS_FAILED: Final = Outcome(ConditionStatus.ERROR, "The TLS handshake failed.")
EXPIRED: Final = Outcome(ConditionStatus.ERROR, "The certificate has expired or is not valid yet.")
NOT_TRUSTED: Final = Outcome(
    ConditionStatus.ERROR, "The certificate is signed by itself or by an authority that is not trusted."
)
OTHER_NAME: Final = Outcome(ConditionStatus.ERROR, "The certificate is for another name.")
NOT_ACCEPTED: Final = Outcome(ConditionStatus.ERROR, "The certificate was not accepted.")

_REFUSALS: Final = {
    **dict.fromkeys((9, 10), EXPIRED),
    **dict.fromkeys((2, 18, 19, 20, 21, 27), NOT_TRUSTED),
    **dict.fromkeys((62, 64), OTHER_NAME),
}
"""By OpenSSL's ``X509_V_ERR_*``; what is not named here is ``NOT_ACCEPTED``."""


class DeadlineSocket(ssl.SSLSocket):
    """Each wait of it ends by the deadline.

    A timeout would not do: it begins anew with each byte, so a peer that sends one now and then is never
    late.
    """

    deadline: Deadline

    def do_handshake(self, block: bool = False) -> None:
        """Shake hands and verify the peer (``ssl.SSLSocket``)."""
        self.settimeout(self.deadline.left())
        try:
            super().do_handshake(block)
        except TimeoutError:
            raise DeadlineReached from None

    def recv_into(self, buffer: "WriteableBuffer", nbytes: int | None = None, flags: int = 0) -> int:
        """Receive; every reader of the socket comes through here (``ssl.SSLSocket``)."""
        self.settimeout(self.deadline.left())
        try:
            return super().recv_into(buffer, nbytes, flags)
        except TimeoutError:
            raise DeadlineReached from None

    def send(self, data: "ReadableBuffer", flags: int = 0) -> int:
        """Send; ``sendall`` comes through here (``ssl.SSLSocket``)."""
        self.settimeout(self.deadline.left())
        try:
            return super().send(data, flags)
        except TimeoutError:
            raise DeadlineReached from None


@cache
def client_context() -> ssl.SSLContext:
    """What all probes share: TLS 1.2 or newer, the peer's certificate and name verified.

    Trusted is what the machine trusts, which OpenSSL finds by itself or by ``SSL_CERT_FILE`` and
    ``SSL_CERT_DIR``: so an operator trusts a CA of his own. A machine that trusts nobody gets the bundle of
    certifi. All of it is read once; a restart reads it anew.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A certificate says whom it is for in its subject alternative name (RFC 9525); the common name is prose.
    context.hostname_checks_common_name = False
    context.set_alpn_protocols(["http/1.1"])
    if _machine_trusts_somebody():
        context.load_default_certs()
    else:
        context.load_verify_locations(certifi.where())
    context.sslsocket_class = DeadlineSocket
    return context


def start_tls(connection: socket.socket, host: str, deadline: Deadline) -> DeadlineSocket:
    """Make a connection a verified one; it is taken over, and closed on any failure.

    Args:
        connection: to the peer.
        host: whom the certificate must name; sent along (SNI) unless it is an IP address.
        deadline: of the handshake and of everything later on this connection.

    Raises:
        Settled: with one of the outcomes of this module.
        DeadlineReached: the handshake was not over by then.
    """
    try:
        secured = cast(
            DeadlineSocket,
            client_context().wrap_socket(connection, server_hostname=host, do_handshake_on_connect=False),
        )
    except (OSError, ValueError):
        connection.close()
        raise Settled(TLS_FAILED) from None
    secured.deadline = deadline
    deadline.watch(secured)
    try:
        secured.do_handshake()
    except OSError as error:
        secured.close()
        raise Settled(_outcome_of(error)) from None
    except DeadlineReached:
        secured.close()
        raise
    return secured


def _outcome_of(error: OSError) -> Outcome:
    """What a handshake that failed says of the peer, and nothing of which peer."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _REFUSALS.get(error.verify_code, NOT_ACCEPTED)
    if isinstance(error, ssl.SSLError) and error.reason == "WRONG_VERSION_NUMBER":
        return NO_TLS
    return TLS_FAILED


def _machine_trusts_somebody() -> bool:
    places = ssl.get_default_verify_paths()
    return bool(places.cafile) or (bool(places.capath) and any(Path(places.capath).iterdir()))
