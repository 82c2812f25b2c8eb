"""The sign-in throttle (contract 11.7)."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remindi.throttle import ALL_FAILURES, CLIENT_FAILURES, WINDOW_MS, Throttle

NOW = 1_000_000


def failed(client: str, *instants: int) -> Throttle:
    """Make a throttle after failures of one client."""
    throttle = Throttle()
    for at in instants:
        throttle.count_failure(client, at)
    return throttle


def test_four_failures_are_forgiven_and_the_fifth_is_not() -> None:
    throttle = failed("a", *[NOW] * 4)
    assert throttle.retry_after("a", NOW) is None
    throttle.count_failure("a", NOW)
    assert throttle.retry_after("a", NOW) == 60


def test_one_client_s_failures_do_not_hold_up_another() -> None:
    assert failed("a", *[NOW] * 5).retry_after("b", NOW) is None


def test_the_oldest_counted_failure_says_how_long() -> None:
    throttle = failed("a", NOW, NOW + 10_000, NOW + 20_000, NOW + 30_000, NOW + 40_000)
    assert throttle.retry_after("a", NOW + 40_000) == 20
    assert throttle.retry_after("a", NOW + 40_001) == 20
    assert throttle.retry_after("a", NOW + 59_999) == 1
    assert throttle.retry_after("a", NOW + 60_000) is None
    throttle.count_failure("a", NOW + 60_000)
    assert throttle.retry_after("a", NOW + 60_000) == 10


def test_five_failures_over_more_than_the_window_are_forgiven() -> None:
    throttle = failed("a", *(NOW + number * WINDOW_MS // 4 for number in range(5)))
    assert throttle.retry_after("a", NOW + WINDOW_MS) is None


def test_sixty_failures_of_all_hold_up_everybody() -> None:
    throttle = Throttle()
    for number in range(ALL_FAILURES):
        assert throttle.retry_after("bystander", NOW + number) is None
        throttle.count_failure(f"client-{number}", NOW + number)
    assert throttle.retry_after("bystander", NOW + 59) == 60
    assert throttle.retry_after("bystander", NOW + 30_000) == 30
    assert throttle.retry_after("bystander", NOW + WINDOW_MS) is None


def test_a_client_waits_for_the_longer_of_both() -> None:
    throttle = Throttle()
    for number in range(ALL_FAILURES - CLIENT_FAILURES):
        throttle.count_failure(f"client-{number}", NOW)
    for _ in range(CLIENT_FAILURES):
        throttle.count_failure("a", NOW + 30_000)
    assert throttle.retry_after("bystander", NOW + 30_000) == 30
    assert throttle.retry_after("a", NOW + 30_000) == 60


def test_a_hundred_thousand_addresses_cost_no_more_memory_than_sixty() -> None:
    throttle = Throttle()
    for number in range(100_000):
        client = f"2001:db8::{number:x}"
        if throttle.retry_after(client, NOW + number) is None:
            throttle.count_failure(client, NOW + number)
    assert len(throttle._failures) <= ALL_FAILURES
    # Also when they are counted without being asked about.
    for number in range(100_000):
        throttle.count_failure(f"2001:db8:1::{number:x}", NOW + 200_000)
    assert len(throttle._failures) <= ALL_FAILURES
    assert sys.getsizeof(throttle._failures) < 4_096
    assert throttle.retry_after("a", NOW + 200_000) == 60


def naive(failures: list[tuple[int, str]], client: str, now: int) -> bool:
    """The contract's sentence, word for word: whether the client is held up."""
    recent = [who for at, who in failures if now - at < WINDOW_MS]
    return recent.count(client) >= 5 or len(recent) >= 60


attempts = st.lists(st.tuples(st.integers(0, 12_000), st.sampled_from("abcdefghijklmnopqrst")), max_size=200)


@given(attempts)
def test_it_decides_as_the_contract_says_and_its_word_holds(steps: list[tuple[int, str]]) -> None:
    throttle, now = Throttle(), NOW
    failures: list[tuple[int, str]] = []
    for pause, client in steps:
        now += pause
        wait = throttle.retry_after(client, now)
        assert (wait is not None) == naive(failures, client, now)
        if wait is None:
            throttle.count_failure(client, now)
            failures.append((now, client))
        else:
            assert 1 <= wait <= 60
            assert not naive(failures, client, now + wait * 1_000)
            assert naive(failures, client, now + (wait - 1) * 1_000)


@pytest.mark.parametrize("late", [1, 999, 1_000])
def test_seconds_are_rounded_up(late: int) -> None:
    assert failed("a", *[NOW] * 5).retry_after("a", NOW + late) == (59 if late == 1_000 else 60)
