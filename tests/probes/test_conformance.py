"""What every adapter does alike (contract 7.4): the order of its reasons, its summaries, its deadline."""

import importlib
import json
import logging
import pkgutil
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import actors.probes
from actors.probes import adapters
from actors.probes.adapters import check_configuration, look
from actors.probes.looking import Deadline, Outcome, Outside
from actors.probes.outcomes import UNKNOWN_ALIAS
from remindi.adapters import ADAPTER_NAMES, Adapter
from remindi.cli.logs import render
from remindi.instants import stamp
from remindi.items import ConditionStatus
from remindi.triggers import Condition
from tests.fakes.clocks import ManualClock
from tests.probes.looks import SECONDS, Names, condition, configured, outside
from tests.probes.peers import Peer, answering, ok, peer


class Case(NamedTuple):
    """One adapter in a world that holds what it looks at."""

    adapter: Adapter
    satisfied: Condition
    unsatisfied: Condition
    unknown_alias: Condition | None
    wrong: tuple[Condition, ...]
    secrets: tuple[str, ...]
    """What no summary and no log line may show."""
    peers: tuple[Peer, ...]
    """Who must hear nothing of a probe that does not begin."""


def window(_stack: ExitStack, _folder: Path, _tls: ssl.SSLContext) -> Case:
    name = "observation_window_ended"
    now = ManualClock().now()
    return Case(
        configured(name),
        condition(name, window_end=stamp(now)),
        condition(name, window_end=stamp(now + 1)),
        None,
        (
            condition(name),
            condition(name, window_end="soon"),
            condition(name, window_end=stamp(now), more=1),
            condition(name, window_end=now),
        ),
        (stamp(now), str(now)),
        (),
    )


def http(stack: ExitStack, _folder: Path, tls: ssl.SSLContext) -> Case:
    name = "http_health"
    good = stack.enter_context(peer(answering(ok(b"body-words")), tls))
    bad = stack.enter_context(peer(answering(ok(b"body-words", status="418 status-words")), tls))
    rest = {
        "expected_statuses": [200],
        "max_response_bytes": 100,
        "allow_redirects": False,
        "allow_private": True,
    }
    return Case(
        configured(
            name,
            aliases={
                "good": {"url": f"https://127.0.0.1:{good.port}/path-words", **rest},
                "bad": {"url": f"https://127.0.0.1:{bad.port}/path-words", **rest},
            },
        ),
        condition(name, target="good"),
        condition(name, target="bad"),
        condition(name, target="other-alias"),
        (
            condition(name),
            condition(name, target=1),
            condition(name, target="good", expected_status="200"),
            condition(name, target="good", expected_status=204),
            condition(name, target="good", url="https://127.0.0.1/"),
        ),
        ("127.0.0.1", str(good.port), str(bad.port), "words", "other-alias", "good", "bad"),
        (good, bad),
    )


def tcp(stack: ExitStack, _folder: Path, _tls: ssl.SSLContext) -> Case:
    name = "tcp_reachable"
    good = stack.enter_context(peer(lambda it: it.keep()))
    with peer(lambda it: it.keep()) as gone:
        closed = gone.port
    return Case(
        configured(
            name,
            aliases={
                "good": {"host": "localhost", "port": good.port, "allow_private": True},
                "bad": {"host": "localhost", "port": closed, "allow_private": True},
            },
        ),
        condition(name, target="good"),
        condition(name, target="bad"),
        condition(name, target="other-alias"),
        (condition(name), condition(name, target="localhost:1"), condition(name, target="good", port=1)),
        ("localhost", str(good.port), str(closed), "other-alias", "good", "bad"),
        (good,),
    )


def file(_stack: ExitStack, folder: Path, _tls: ssl.SSLContext) -> Case:
    name = "file_exists"
    (folder / "marker").write_text("body-words")
    return Case(
        configured(
            name,
            roots=[str(folder)],
            aliases={"good": str(folder / "marker"), "bad": str(folder / "nothing")},
        ),
        condition(name, path_alias="good"),
        condition(name, path_alias="bad"),
        condition(name, path_alias="other-alias"),
        (condition(name), condition(name, path_alias="/etc"), condition(name, target="good")),
        (str(folder), "marker", "words", "other-alias", "good", "bad"),
        (),
    )


CASES: dict[str, Callable[[ExitStack, Path, ssl.SSLContext], Case]] = {
    "observation_window_ended": window,
    "http_health": http,
    "tcp_reachable": tcp,
    "file_exists": file,
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, tmp_path: Path, tls: ssl.SSLContext) -> Iterator[Case]:
    """Each adapter in turn."""
    with ExitStack() as stack:
        yield CASES[request.param](stack, tmp_path, tls)


def seen(asked: Condition, adapter: Adapter | None, world: Outside | None = None) -> Outcome:
    return look(adapter, asked, world or outside(), Deadline(SECONDS))


def test_the_suite_knows_every_adapter() -> None:
    assert sorted(CASES) == sorted(ADAPTER_NAMES)


def test_what_it_looks_for_is_there(case: Case) -> None:
    assert seen(case.satisfied, case.adapter).status is ConditionStatus.SATISFIED


def test_what_it_looks_for_is_not_there(case: Case) -> None:
    assert seen(case.unsatisfied, case.adapter).status is ConditionStatus.UNSATISFIED


def test_an_adapter_that_is_not_there_is_unknown_whatever_else_is_wrong(case: Case) -> None:
    for asked in (case.satisfied, *case.wrong):
        assert seen(asked, None) == adapters.UNREGISTERED
    assert all(each.seen() == (0, 0) for each in case.peers)


def test_a_disabled_adapter_is_unknown_whatever_else_is_wrong(case: Case) -> None:
    for asked in (case.satisfied, *case.wrong):
        assert seen(asked, case.adapter._replace(enabled=False)) == adapters.DISABLED
    assert all(each.seen() == (0, 0) for each in case.peers)


def test_wrong_parameters_are_an_error(case: Case) -> None:
    for asked in case.wrong:
        assert seen(asked, case.adapter).status is ConditionStatus.ERROR
    assert all(each.seen() == (0, 0) for each in case.peers)


def test_an_alias_that_is_not_configured_is_unknown(case: Case) -> None:
    if case.unknown_alias is not None:
        assert seen(case.unknown_alias, case.adapter) == UNKNOWN_ALIAS


def test_a_deadline_that_is_over_is_unknown_and_nobody_hears_of_it(case: Case) -> None:
    for asked in (case.satisfied, case.unsatisfied):
        assert look(case.adapter, asked, outside(), Deadline(0)) == adapters.TIME_IS_UP
    assert all(each.seen() == (0, 0) for each in case.peers)


def test_looking_twice_says_the_same(case: Case) -> None:
    for asked in (case.satisfied, case.unsatisfied):
        first = seen(asked, case.adapter)
        assert seen(asked, case.adapter) == first


def test_whatever_breaks_becomes_an_error_of_few_words(
    case: Case, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_anything: Any) -> Any:
        raise ZeroDivisionError(*case.secrets)

    module = importlib.import_module(f"actors.probes.{case.adapter.name}")
    monkeypatch.setattr(module, "probe", broken)
    with caplog.at_level(logging.DEBUG):
        assert seen(case.satisfied, case.adapter) == adapters.FAILED
    (line,) = [json.loads(render(record)) for record in caplog.records]
    del line["time"]
    assert line == {
        "level": "error",
        "target": "remindi.probes",
        "message": "a probe failed unexpectedly",
        "adapter": case.adapter.name,
        "error": "ZeroDivisionError",
    }


def test_parameters_that_are_no_json_are_an_error(case: Case) -> None:
    asked = case.satisfied._replace(parameters_json="{")
    assert seen(asked, case.adapter) == adapters.FAILED


def test_an_adapter_that_holds_another_ones_configuration_is_an_error(case: Case) -> None:
    other = configured("tcp_reachable" if case.adapter.name != "tcp_reachable" else "http_health", aliases={})
    mixed = case.adapter._replace(configuration=other.configuration)
    assert seen(case.satisfied, mixed).status is ConditionStatus.ERROR


def test_a_configuration_that_the_machine_agrees_with_may_be_saved(case: Case) -> None:
    assert check_configuration(case.adapter.configuration) is None


def test_no_summary_and_no_log_line_names_a_target(case: Case, caplog: pytest.LogCaptureFixture) -> None:
    asked = [case.satisfied, case.unsatisfied, *case.wrong]
    if case.unknown_alias is not None:
        asked.append(case.unknown_alias)
    with caplog.at_level(1):
        outcomes = [seen(each, case.adapter) for each in asked]
        outcomes.append(
            seen(case.satisfied, case.adapter, outside(Names({"127.0.0.1": [], "localhost": []})))
        )
    for secret in case.secrets:
        assert not any(secret in outcome.summary for outcome in outcomes)
    assert not [record for record in caplog.records if record.name.startswith("remindi")]
    assert set(outcomes) <= set(all_outcomes().values())


def all_outcomes() -> dict[str, Outcome]:
    """Every outcome there is, by module and name: nobody makes one elsewhere."""
    return {
        f"{module.name}.{name}": value
        for module in pkgutil.iter_modules(actors.probes.__path__)
        for name, value in vars(importlib.import_module(f"actors.probes.{module.name}")).items()
        if isinstance(value, Outcome)
    }


@pytest.mark.parametrize("outcome", all_outcomes().values(), ids=all_outcomes())
def test_a_summary_is_one_short_sentence(outcome: Outcome) -> None:
    assert 0 < len(outcome.summary.encode()) <= 256
    assert outcome.summary[0].isupper()
    assert outcome.summary.endswith(".")
    assert outcome.summary.isascii()
    assert not any(character in outcome.summary for character in "%{}\n/:0123456789")


def test_the_window_has_ended_at_its_very_end() -> None:
    clock = ManualClock()
    adapter = configured("observation_window_ended")
    asked = condition("observation_window_ended", window_end=stamp(clock.now() + 1_000))
    statuses = []
    for _ in range(3):
        statuses.append(look(adapter, asked, Outside(clock=clock), Deadline(SECONDS)).status)
        clock.advance(0.999 if len(statuses) == 1 else 0.001)
    assert statuses == [
        ConditionStatus.UNSATISFIED,
        ConditionStatus.UNSATISFIED,
        ConditionStatus.SATISFIED,
    ]
