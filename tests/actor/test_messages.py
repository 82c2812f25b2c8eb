"""What every message is: frozen, slotted, keyword-only, of immutable fields, and named for what it is."""

import dataclasses
import enum
import importlib
import pkgutil
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import actors.messages
from actors.messages import Notice, Request
from remindi.adapters import AdapterRegistry, Configuration
from remindi.settings import Settings

ATOMS = (int, str, bytes, bool, float, type(None), Path)
SNAPSHOTS = (Settings, AdapterRegistry, *typing.get_args(Configuration))
"""Classes that hold a read-only mapping and have no way of being changed."""
QUERIES = ("Get", "List")
PAST = ("ed", "Held", "Known", "Due")


def modules() -> Iterator[types.ModuleType]:
    yield actors.messages
    for module in pkgutil.iter_modules(actors.messages.__path__):
        yield importlib.import_module(f"actors.messages.{module.name}")


def declared() -> list[type]:
    """Every class that a message module declares itself."""
    return [
        value
        for module in modules()
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
    ]


MESSAGES = [kind for kind in declared() if dataclasses.is_dataclass(kind)]
ASKED = [kind for kind in MESSAGES if issubclass(kind, Request) and kind is not Request]
TOLD = [kind for kind in MESSAGES if issubclass(kind, Notice) and kind is not Notice]


def named(kind: type) -> str:
    return f"{kind.__module__}.{kind.__name__}"


def test_there_are_messages() -> None:
    assert len(ASKED) > 15
    assert len(TOLD) > 10


@pytest.mark.parametrize("kind", MESSAGES, ids=named)
def test_a_message_is_frozen_slotted_and_keyword_only(kind: type) -> None:
    parameters = kind.__dataclass_params__  # type: ignore[attr-defined]
    assert parameters.frozen
    assert "__slots__" in vars(kind)
    assert not hasattr(object.__new__(kind), "__dict__")
    assert all(field.kw_only for field in dataclasses.fields(kind))


@pytest.mark.parametrize("kind", MESSAGES, ids=named)
def test_a_message_holds_nothing_that_can_change(kind: type) -> None:
    assert list(mutable_parts(kind)) == []


def mutable_parts(kind: type) -> Iterator[str]:
    """The fields of a class, and of the classes in them, whose type is not known to be immutable."""
    seen: set[Any] = set()
    waiting: list[tuple[str, Any]] = [(kind.__name__, kind)]
    while waiting:
        where, hint = waiting.pop()
        if hint in seen or isinstance(hint, typing.TypeVar):
            continue
        seen.add(hint)
        origin = typing.get_origin(hint)
        if origin in (typing.Union, types.UnionType, tuple):
            waiting += [(where, part) for part in typing.get_args(hint) if part is not Ellipsis]
        elif origin is typing.Literal or hint in ATOMS or hint in SNAPSHOTS or is_enum(hint):
            continue
        elif is_value(hint):
            hints = typing.get_type_hints(hint)
            waiting += [(f"{where}.{name}", part) for name, part in hints.items() if name != "__slots__"]
        else:
            yield f"{where}: {hint}"


def is_enum(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, enum.Enum)


def is_value(hint: Any) -> bool:
    """Whether a class is a named tuple or a frozen dataclass."""
    if not isinstance(hint, type):
        return False
    if issubclass(hint, tuple):
        return hasattr(hint, "_fields")
    return dataclasses.is_dataclass(hint) and hint.__dataclass_params__.frozen  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", TOLD, ids=named)
def test_a_notice_is_in_the_past_tense(kind: type) -> None:
    assert kind.__name__.endswith(PAST)


@pytest.mark.parametrize("kind", ASKED, ids=named)
def test_what_is_asked_is_an_imperative_or_a_query(kind: type) -> None:
    assert kind.__name__.startswith("Set") or not kind.__name__.endswith(PAST)


READER = [
    kind for kind in ASKED if kind.__module__ == "actors.messages.readers" and kind.__name__ != "ReopenReader"
]


@pytest.mark.parametrize("kind", READER, ids=named)
def test_a_reader_is_only_asked_queries(kind: type) -> None:
    assert kind.__name__.startswith(QUERIES)


@pytest.mark.parametrize("kind", MESSAGES, ids=named)
def test_a_message_says_what_it_means(kind: type) -> None:
    assert kind.__doc__
    assert not kind.__doc__.startswith(f"{kind.__name__}(")
