"""Actor ids: who acts, without giving a secret away (contract section 9)."""

import re

from hypothesis import given
from hypothesis import strategies as st

from remindi.callers import UNAUTHENTICATED_WEB_ACTOR_ID, mcp_actor_id, web_actor_id

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(names, names)
def test_an_id_is_a_prefix_and_an_unpadded_base64url_sha_256(one: str, other: str) -> None:
    assert re.fullmatch(r"mcp:[A-Za-z0-9_-]{43}", mcp_actor_id(one, other))
    assert re.fullmatch(r"webui:[A-Za-z0-9_-]{43}", web_actor_id(one))


def test_an_id_stays_the_same_across_restarts_and_releases() -> None:
    # Idempotency keys belong to actors: another id here would end the replay of all stored keys.
    assert mcp_actor_id("owner", "token") == "mcp:c4iX4U4Rktv-OEDJEe81vQuTW9MRnk-1AbPjzfgiW8M"
    assert web_actor_id("admin") == "webui:jGl25bVBBBW96Qi9Te4V37Fnqchz_Eu4qB9vKrRIqRg"


@given(names, names, names, names)
def test_two_pairs_of_owner_and_token_never_share_an_id(a: str, b: str, c: str, d: str) -> None:
    assert (mcp_actor_id(a, b) == mcp_actor_id(c, d)) == ((a, b) == (c, d))


def test_a_character_moved_from_owner_to_token_makes_another_actor() -> None:
    assert mcp_actor_id("ab", "c") != mcp_actor_id("a", "bc")
    assert mcp_actor_id("", "abc") != mcp_actor_id("abc", "")


def test_the_two_doors_never_collide() -> None:
    assert UNAUTHENTICATED_WEB_ACTOR_ID == "webui:unauthenticated"
    assert web_actor_id("unauthenticated") != UNAUTHENTICATED_WEB_ACTOR_ID
