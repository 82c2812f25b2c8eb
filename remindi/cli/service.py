"""Which running service a command means, and by what it is known there."""

import os
import re
from pathlib import Path
from typing import Final, NamedTuple

from remindi.authorities import Origin, parse_authority
from remindi.cli import exits
from remindi.cli.envfile import EnvFileError, read_env_file
from remindi.cli.exits import Refused
from remindi.cli.service_arguments import DEFAULT_STATE, DEFAULT_URL, ENV_FILE_NAME, ServiceArguments

URL_VARIABLE: Final = "REMINDI_URL"
HOW_TO_SAY_URL: Final = "an address such as http://127.0.0.1:8000 or https://remindi.example.com/prefix"

_URL: Final = re.compile(r"([Hh][Tt][Tt][Pp][Ss]?)://([^/?#]+)((?:/[A-Za-z0-9._~-]+)*)/?")
_DEFAULT_PORTS: Final = {"http": ":80", "https": ":443"}
_VISIBLE_ASCII: Final = re.compile(r"[\x21-\x7e]+")


class Service(NamedTuple):
    """Where a service is."""

    origin: Origin
    prefix: str
    """What its paths are put behind: empty, or segments that each begin with a slash."""

    def __str__(self) -> str:
        return f"{self.origin}{self.prefix}"


class Secret(NamedTuple):
    """A secret, and where it was found."""

    value: str
    source: str
    """Names variable and file, for people; never the value."""

    def __repr__(self) -> str:
        return f"Secret(source={self.source!r})"


class Surroundings:
    """Variables of the process environment and, behind them, of an env file.

    The file of ``make serve`` is looked into only for what the environment lacks.
    """

    def __init__(self, env_file: Path | None) -> None:
        """Take the file that the command line names, if it names one."""
        self._named = env_file
        self._file: dict[str, str] | None = None

    def find(self, variable: str) -> Secret | None:
        """A variable that is set and not blank.

        Raises:
            Refused: the env file cannot be used.
        """
        if (value := os.environ.get(variable, "")).strip():
            return Secret(value, f"{variable} in the environment")
        if (value := self._values().get(variable, "")).strip():
            return Secret(value, f"{variable} in {self._path}")
        return None

    def need(self, variable: str) -> Secret:
        """The same for a secret that a command cannot do without.

        Raises:
            Refused: it is not set, or the env file cannot be used.
        """
        found = self.find(variable)
        if found is None:
            where = f"{self._path} does not hold it" if self._values() else f"there is no {self._path} here"
            raise Refused(
                exits.CONFIGURATION,
                f"{variable} is required and not in the environment; {where}."
                " Name the env file of the service with --env-file.",
            )
        return found

    @property
    def _path(self) -> Path:
        return self._named or DEFAULT_STATE / ENV_FILE_NAME

    def _values(self) -> dict[str, str]:
        if self._file is None:
            try:
                there = self._named is not None or self._path.is_file()
                self._file = read_env_file(self._path) if there else {}
            except EnvFileError as error:
                raise Refused(exits.CONFIGURATION, str(error)) from None
            except OSError as error:
                raise Refused(
                    exits.CONFIGURATION, f"{self._path}: cannot be read: {error.strerror}."
                ) from None
        return self._file


def service_of(arguments: ServiceArguments, surroundings: Surroundings) -> Service:
    """The service that a command line and its surroundings name.

    Raises:
        Refused: they name no address.
    """
    if arguments.url is not None:
        service = parse_url(arguments.url)
        if service is None:
            raise Refused(exits.USAGE, f"--url: must be {HOW_TO_SAY_URL}, without user and query.")
        return service
    found = surroundings.find(URL_VARIABLE)
    service = parse_url(DEFAULT_URL if found is None else found.value)
    if service is None:
        raise Refused(
            exits.CONFIGURATION, f"{URL_VARIABLE} must be {HOW_TO_SAY_URL}, without user and query."
        )
    return service


def parse_url(text: str) -> Service | None:
    """Read an address; one that ends in ``/mcp``, as clients are given it, means the same service."""
    found = _URL.fullmatch(text.strip())
    if found is None:
        return None
    scheme = found[1].lower()
    authority = parse_authority(found[2])
    prefix = found[3].removesuffix("/mcp")
    if authority is None or {".", ".."} & set(prefix.split("/")):
        return None
    return Service(Origin(scheme, authority.removesuffix(_DEFAULT_PORTS[scheme])), prefix)


def header_value(secret: Secret) -> str:
    """A secret as it may stand in a header.

    Raises:
        Refused: it may not.
    """
    if _VISIBLE_ASCII.fullmatch(secret.value) is None:
        raise Refused(
            exits.CONFIGURATION, f"{secret.source} must be visible ASCII characters without spaces."
        )
    return secret.value
