"""When a condition is looked at again (contract 7.2)."""

from hypothesis import given
from hypothesis import strategies as st

from remindi.polling import SPREAD, next_evaluation
from remindi.triggers import Condition

NOW = 1_800_000_000_000


def condition(poll: int | None = None, manual: int | None = None) -> Condition:
    """Make a condition."""
    return Condition("file_exists", "{}", poll, manual)


def test_the_interval_is_thirty_seconds_unless_said() -> None:
    assert next_evaluation(condition(), NOW, 0.0) == NOW + 30_000
    assert next_evaluation(condition(600), NOW, 0.0) == NOW + 600_000


def test_chance_moves_it_by_a_tenth_at_most() -> None:
    assert next_evaluation(condition(100), NOW, -SPREAD) == NOW + 90_000
    assert next_evaluation(condition(100), NOW, SPREAD) == NOW + 110_000


@given(
    st.none() | st.integers(30, 86_400), st.none() | st.integers(NOW, NOW + 10**9), st.floats(-SPREAD, SPREAD)
)
def test_it_never_comes_after_the_manual_check(poll: int | None, manual: int | None, chance: float) -> None:
    following = next_evaluation(condition(poll, manual), NOW, chance)
    interval = (poll or 30) * 1_000
    if manual is None:
        assert 0.9 * interval - 1 <= following - NOW <= 1.1 * interval + 1
    else:
        assert following == min(manual, next_evaluation(condition(poll), NOW, chance))
