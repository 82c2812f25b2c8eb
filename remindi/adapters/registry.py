"""The registry: an immutable snapshot of the four adapters as they are configured now; and their rows."""

from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import NamedTuple

from remindi.adapters.configuration import ADAPTER_NAMES, Configuration, empty_configuration


class Adapter(NamedTuple):
    """One adapter: whether it may probe, and what it knows."""

    name: str
    enabled: bool
    configuration: Configuration


class AdapterRow(NamedTuple):
    """An adapter as it is stored: versioned, with who changed it last (contract 11.9)."""

    name: str
    enabled: bool
    configuration: Configuration
    version: int
    updated_at: int
    updated_by: str


class AdapterRegistry:
    """Adapters by name. Whoever changes one makes a new registry."""

    __slots__ = ("_adapters",)

    def __init__(self, adapters: Iterable[Adapter]) -> None:
        """Take adapters of distinct names."""
        self._adapters = MappingProxyType({adapter.name: adapter for adapter in sorted(adapters, key=_name)})

    @classmethod
    def defaults(cls) -> "AdapterRegistry":
        """The four as they are at first: disabled and empty."""
        return cls(Adapter(name, False, empty_configuration(name)) for name in ADAPTER_NAMES)

    def get(self, name: str) -> Adapter | None:
        """The adapter of this name, if there is one."""
        return self._adapters.get(name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AdapterRegistry) and self._adapters == other._adapters

    def __hash__(self) -> int:
        return hash(tuple(self._adapters))

    def __iter__(self) -> Iterator[Adapter]:
        """The adapters, by name."""
        return iter(self._adapters.values())

    def __len__(self) -> int:
        """How many there are."""
        return len(self._adapters)


def _name(adapter: Adapter) -> str:
    return adapter.name
