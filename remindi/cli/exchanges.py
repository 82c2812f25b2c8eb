"""Exchanges: one HTTP request to a service and its whole answer, within bounds of time and size.

Nothing is repeated here, no redirect is followed, and neither a file of the user's (netrc) nor a cookie of a
server adds to what is sent. Proxies of the environment are used for https alone, where they see neither token
nor text.
"""

import json
import os
import time
from collections.abc import Mapping
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Final, NamedTuple

import requests
from requests.exceptions import ConnectTimeout, InvalidHeader, ProxyError, RequestException, SSLError
from requests.utils import get_environ_proxies
from urllib3.exceptions import HTTPError, MaxRetryError, NameResolutionError, NewConnectionError

from remindi import __version__
from remindi.cli import exits
from remindi.cli.exits import Refused
from remindi.cli.service import Service

CONNECT_SECONDS: Final = 5.0
SILENCE_SECONDS: Final = 75.0
"""Longest wait for the next bytes: longer than the longest check probes."""
ANSWER_SECONDS: Final = 150.0
"""Longest wait for a whole answer."""
MAX_ANSWER_BYTES: Final = 67_108_864
_CHUNK_BYTES: Final = 65_536
_AUTHORITIES: Final = ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    cookies: Mapping[str, str]
    body: bytes


class Lost(Exception):
    """The request may have been carried out; its answer did not come, or not whole."""


class Exchanges:
    """Requests to one service."""

    def __init__(self, service: Service) -> None:
        """Connect to nothing yet."""
        self.service = service
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        self._proxies = get_environ_proxies(str(service)) if service.origin.scheme == "https" else {}
        self._verify = next((os.environ[name] for name in _AUTHORITIES if os.environ.get(name)), True)

    def send(
        self, method: str, path: str, *, headers: Mapping[str, str], body: bytes | None = None
    ) -> Answer:
        """Send one request.

        Args:
            method: in capitals.
            path: behind the service's prefix.
            headers: beside those that every request has.
            body: bytes, or none.

        Raises:
            Lost: see there.
            Refused: nothing was sent to a service: the line says why.
        """
        own = {
            "Host": self.service.origin.authority,
            "User-Agent": f"remindi/{__version__}",
            "Accept-Encoding": "identity",
        }
        try:
            with self._session.request(
                method,
                f"{self.service}{path}",
                headers={**own, **headers},
                data=body,
                timeout=(CONNECT_SECONDS, SILENCE_SECONDS),
                allow_redirects=False,
                proxies=self._proxies,
                verify=self._verify,
                stream=True,
            ) as response:
                cookies = {cookie.name: cookie.value or "" for cookie in response.cookies}
                return Answer(response.status_code, response.headers, cookies, _whole(response))
        except (RequestException, HTTPError) as error:
            why = self._unsent(error)
            if why is None:
                raise Lost from None
            raise Refused(exits.UNAVAILABLE, why) from None
        except OSError:
            # A file of certificates that is not there.
            raise Refused(exits.CONFIGURATION, f"{' or '.join(_AUTHORITIES)} cannot be read.") from None

    def _unsent(self, error: Exception) -> str | None:
        """Why nothing was sent; None when something may have been."""
        cause = error.args[0] if error.args else None
        reason = cause.reason if isinstance(cause, MaxRetryError) else None
        match error:
            case SSLError():
                return (
                    f"{self.service} shows no certificate that is trusted here, or speaks no TLS."
                    " For an authority of your own set SSL_CERT_FILE; without TLS write http://."
                )
            case ProxyError():
                return f"The proxy for {self.service} (HTTPS_PROXY) does not let it be reached."
            case ConnectTimeout():
                return f"{self.service} does not answer within {CONNECT_SECONDS:.0f} s."
            case InvalidHeader():
                return "A value that was to be sent as a header may not stand in one."
            case _ if isinstance(reason, NameResolutionError):
                return f"The name in {self.service} is not known."
            case _ if isinstance(reason, NewConnectionError):
                return (
                    f"No service answers at {self.service}. Start one with `remindi serve`"
                    " (or `make serve`), or say where it is with --url."
                )
            case _:
                return None


def json_body(value: Any) -> bytes:
    """A value as the body of a request.

    Raises:
        Refused: its text came from bytes that are no UTF-8.
    """
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Refused(exits.USAGE, "What was given is not valid UTF-8.") from None


def _whole(response: requests.Response) -> bytes:
    """The body.

    Raises:
        Lost: it takes too long.
        Refused: it is larger than any answer of a Remindi.
    """
    deadline = time.monotonic() + ANSWER_SECONDS
    chunks, size = [], 0
    for chunk in response.iter_content(_CHUNK_BYTES):
        chunks.append(chunk)
        size += len(chunk)
        if size > MAX_ANSWER_BYTES:
            raise Refused(exits.FAILED, "The answer is larger than any of a Remindi.")
        if time.monotonic() > deadline:
            raise Lost
    return b"".join(chunks)
