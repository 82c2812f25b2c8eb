"""Looking at conditions as the pool does: by ``look``, with adapters as an administrator configured them."""

import json
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Any

from actors.probes.adapters import look
from actors.probes.looking import Address, Deadline, Outcome, Outside, system_resolver
from remindi.adapters import Adapter, read_configuration
from remindi.errors import Refusal
from remindi.triggers import Condition
from tests.fakes.clocks import ManualClock

SECONDS = 20.0
"""A deadline that only broken code reaches."""
SOON = 0.3
"""A deadline that is meant to be reached."""


class Names:
    """A resolver of a few names; anything else is asked of the machine. It keeps what it was asked."""

    def __init__(self, names: Mapping[str, Sequence[str]] | None = None) -> None:
        self.names = dict(names or {})
        self.asked: list[str] = []

    def __call__(self, host: str) -> tuple[Address, ...]:
        self.asked.append(host)
        if host in self.names:
            return tuple(ip_address(address) for address in self.names[host])
        return system_resolver(host)


class Changing:
    """A resolver that answers otherwise each time it is asked."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = iter(answers)

    def __call__(self, _host: str, /) -> tuple[Address, ...]:
        return tuple(ip_address(address) for address in next(self._answers))


class NotConfigurable(Exception):
    """No administrator can save this."""


def configured(name: str, enabled: bool = True, **keys: Any) -> Adapter:
    """An adapter with the configuration that these keys make."""
    configuration = read_configuration(name, {"type": name, **keys})
    if isinstance(configuration, Refusal):
        raise NotConfigurable(configuration.errors)
    return Adapter(name, enabled, configuration)


def condition(name: str, **parameters: Any) -> Condition:
    """A condition of an adapter."""
    return Condition(name, json.dumps(parameters), None, None)


def outside(resolve: Any = None) -> Outside:
    """A world whose clock stands still."""
    return Outside(clock=ManualClock(), resolve=resolve or Names())


def http(
    url: str,
    *,
    statuses: Sequence[int] = (200,),
    cap: int = 65_536,
    content_type: str | None = None,
    redirects: bool = False,
    private: bool = True,
    expected_status: int | None = None,
    resolve: Any = None,
    seconds: float = SECONDS,
) -> Outcome:
    """Look at one URL by ``http_health``."""
    adapter = configured(
        "http_health",
        aliases={
            "target": {
                "url": url,
                "expected_statuses": list(statuses),
                "max_response_bytes": cap,
                "expected_content_type": content_type,
                "allow_redirects": redirects,
                "allow_private": private,
            }
        },
    )
    parameters: dict[str, Any] = {"target": "target"}
    if expected_status is not None:
        parameters["expected_status"] = expected_status
    return look(adapter, condition("http_health", **parameters), outside(resolve), Deadline(seconds))


def tcp(
    host: str, port: int, *, private: bool = True, resolve: Any = None, seconds: float = SECONDS
) -> Outcome:
    """Look at one port by ``tcp_reachable``."""
    adapter = configured(
        "tcp_reachable", aliases={"target": {"host": host, "port": port, "allow_private": private}}
    )
    return look(adapter, condition("tcp_reachable", target="target"), outside(resolve), Deadline(seconds))


def file(path: str, *roots: str, seconds: float = SECONDS) -> Outcome:
    """Look at one path by ``file_exists``."""
    adapter = configured("file_exists", roots=list(roots), aliases={"target": path})
    return look(adapter, condition("file_exists", path_alias="target"), outside(), Deadline(seconds))
