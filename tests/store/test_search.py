"""Search: what the words of a text find, and that the index holds exactly the words of the items."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.store import search
from tests.fakes.core import Core, raw
from tests.fakes.script import PAST, Script
from tests.store.recount import check_index

EVIDENCE = {
    "type": "observation",
    "summary": "saw the job end with status 0",
    "reference_uri": "https://ci.example/1",
    "observed_at": PAST,
}
SYNTAX = [
    *("AND", "OR", "NOT", "NOT m", "m AND", "m OR x", "NEAR(m x)", "NEAR(m x, 2)", "message: m", "message:m"),
    *(
        '"',
        '""',
        '"m',
        'm"x',
        "'",
        "*",
        "m*",
        "* m",
        "^m",
        "-m",
        "- message : m",
        "+",
        "m + x",
        "(",
        "(m",
        ")",
    ),
    *(
        "{message}: m",
        "{",
        "\\",
        "%",
        "_",
        "?1",
        ":words",
        "@x",
        "$x",
        "m;x",
        "--",
        "/*",
        "rank:m",
        "rowid:1",
    ),
]


def found(core: Core, text: str, **parameters: str) -> list[str]:
    return [item["message"] for item in core.listed(q=text, **parameters)["items"]]


@pytest.fixture(autouse=True, params=["few", "many"])
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything holds both for rare words and for those that count as frequent."""
    if request.param == "many":
        monkeypatch.setattr(search, "FEW", 0)


@pytest.fixture
def tale(script: Script) -> Script:
    script.add(message="Renew the certificate", instructions="Ask the registrar about Prüfung 4711")
    script.add(message="Deploy foo-bar's build", instructions=None)
    script.add(message="Überprüfe den Build", instructions="über alles\nzweite Zeile")
    return script


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("certificate", ["Renew the certificate"]),
        ("REGISTRAR", ["Renew the certificate"]),
        ("renew registrar", ["Renew the certificate"]),
        ("registrar renew", ["Renew the certificate"]),
        ("renew build", []),
        ("prufung", ["Renew the certificate"]),
        ("Prüfung", ["Renew the certificate"]),
        ("uberprufe", ["Überprüfe den Build"]),
        ("zweite", ["Überprüfe den Build"]),
        ("foo bar", ["Deploy foo-bar's build"]),
        ("foo-bar", ["Deploy foo-bar's build"]),
        ("build", ["Deploy foo-bar's build", "Überprüfe den Build"]),
        ("4711", ["Renew the certificate"]),
    ],
)
def test_an_item_is_found_by_all_its_words_whatever_their_case_and_accents(
    tale: Script, text: str, messages: list[str]
) -> None:
    assert found(tale.core, text) == messages


def test_only_the_last_word_may_be_the_beginning_of_one(tale: Script) -> None:
    assert found(tale.core, "cert") == ["Renew the certificate"]
    assert found(tale.core, "the cert") == ["Renew the certificate"]
    assert found(tale.core, "cert the") == []
    assert found(tale.core, "bu") == ["Deploy foo-bar's build", "Überprüfe den Build"]


def test_a_single_letter_is_a_word_and_no_beginning(tale: Script) -> None:
    assert found(tale.core, "c") == []
    assert found(tale.core, "s") == ["Deploy foo-bar's build"]


@pytest.mark.parametrize("text", SYNTAX)
def test_what_would_be_syntax_is_text(tale: Script, text: str) -> None:
    tale.add(message=f"about {text} here")
    expected = [f"about {text} here"] if any(letter.isalnum() for letter in text) else []
    assert found(tale.core, text) == expected


def test_a_text_without_a_word_finds_nothing(tale: Script) -> None:
    for text in ("!!!", "…", "- -", "\u0301"):
        assert tale.core.listed(q=text) == {"items": [], "next_cursor": None}


def test_as_many_words_as_a_text_may_hold_are_looked_for(tale: Script) -> None:
    words = " ".join("abcdefgh" * 16)
    assert len(words) <= 256
    tale.add(message=words)
    assert found(tale.core, words) == [words]
    assert found(tale.core, "x" * 256) == []


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=4))
def test_whatever_a_message_says_finds_it(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    with Core(tmp_path_factory.mktemp("search") / "remindi.db") as core:
        script = Script(core)
        for text in texts:
            words = "".join(letter if letter.isprintable() else " " for letter in text)
            said = f"w {words}"
            script.add(message=said)
            assert said.strip() in found(core, said)
            if words.strip():
                found(core, words)


def test_an_update_of_its_words_is_found_by_the_new_ones_alone(tale: Script) -> None:
    name = tale.add(message="first words", instructions="old advice")
    tale.change("remindi_update", name, message="second thoughts")
    assert found(tale.core, "first") == []
    assert found(tale.core, "second advice") == ["second thoughts"]
    tale.change("remindi_update", name, instructions=None)
    assert found(tale.core, "advice") == []
    tale.change("remindi_update", name, instructions="")
    tale.change("remindi_update", name, instructions="new advice")
    assert found(tale.core, "advice") == ["second thoughts"]
    tale.core.stop()
    check_index(tale.core.path)


def test_what_happens_to_an_item_leaves_the_index_alone(tale: Script) -> None:
    name = tale.add(message="stays as it is")
    blocks = index_blocks(tale.core.path)
    tale.change("remindi_update", name, priority="high", links=[{"type": "goal", "value": "g"}])
    tale.change("remindi_update", name, trigger={"type": "at_time", "at": PAST})
    tale.pass_()
    tale.change("remindi_snooze", name, snooze_until="2027-02-01T00:00:00Z")
    version = tale.item(name)["version"]
    target = {"remindi_id": name, "expected_version": version, "idempotency_key": tale.key()}
    tale.core.data("remindi_complete", **target, evidence=EVIDENCE)
    assert index_blocks(tale.core.path) == blocks
    assert found(tale.core, "stays") == ["stays as it is"]


def index_blocks(path: Path) -> list[Any]:
    with raw(path) as connection:
        return list(connection.execute("SELECT id, block FROM search_data ORDER BY id"))


@pytest.mark.parametrize("sort", ["created", "fire_time", "priority"])
def test_the_matches_come_in_pages_and_in_the_order_asked_for(script: Script, sort: str) -> None:
    for number in range(7):
        words = "even one" if number % 2 == 0 else "odd one"
        at = f"2028-01-{(number * 3) % 7 + 1:02d}T00:00:00Z"
        priority = ["low", "critical", "normal"][number % 3]
        script.add(message=f"{number} {words}", trigger={"type": "at_time", "at": at}, priority=priority)
    everything = found(script.core, "even one", sort=sort)
    assert sorted(everything) == [f"{number} even one" for number in (0, 2, 4, 6)]
    data = script.core.listed(q="even one", sort=sort, limit="1")
    pages = data["items"]
    while data["next_cursor"] is not None:
        data = script.core.listed(q="even one", sort=sort, limit="1", cursor=data["next_cursor"])
        pages += data["items"]
    assert [item["message"] for item in pages] == everything


def test_filters_and_words_hold_together(tale: Script) -> None:
    tale.add(message="Build elsewhere", project_id="q", task_id="t", links=[{"type": "goal", "value": "g"}])
    name = tale.add(message="Build no more")
    tale.change("remindi_cancel", name)
    assert found(tale.core, "build", project_id="q") == ["Build elsewhere"]
    assert found(tale.core, "build", task_id="t") == ["Build elsewhere"]
    assert found(tale.core, "build", linked_goal_id="g") == ["Build elsewhere"]
    assert found(tale.core, "build", states="cancelled") == ["Build no more"]
    assert found(tale.core, "build", remindi_id=name) == ["Build no more"]
    assert found(tale.core, "elsewhere", remindi_id=name) == []
    assert found(tale.core, "build", project_id="nobody") == []


def test_another_owners_words_are_not_found(path: Path) -> None:
    with Core(path, owner="somebody else") as theirs:
        Script(theirs).add(message="a secret word")
    with Core(path) as core:
        assert found(core, "secret") == []
        Script(core).add(message="no secret", idempotency_key="a-key-of-mine")
        assert found(core, "secret") == ["no secret"]
    check_index(path)
