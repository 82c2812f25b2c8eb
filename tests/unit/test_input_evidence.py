"""Completion evidence: what counts as shown (contract 2.6)."""

import sys
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remindi import tools
from remindi.evidence import EvidenceType
from remindi.inputs.evidence import BARE_CLAIMS, is_bare_claim
from remindi.instants import stamp
from tests.unit.reading import failures, read
from tests.unit.samples import EVIDENCE, MOST, NOW, Arguments, changed

PUNCTUATION = "".join(
    chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith("P")
)


def complete(**fields: Any) -> Arguments:
    return {**MOST[tools.COMPLETE], "evidence": {**EVIDENCE, **fields}}


def refused(**fields: Any) -> list[tuple[str, str]]:
    return failures(tools.COMPLETE, complete(**fields))


class TestSummary:
    @pytest.mark.parametrize("claim", sorted(BARE_CLAIMS))
    def test_that_only_claims_is_refused_in_any_dress(self, claim: str) -> None:
        for dressed in (
            claim,
            claim.upper(),
            claim.title(),
            f"  {claim}!!\n",
            claim.replace(" ", " \t\u00a0 "),
            f"{claim} …",
        ):
            assert refused(summary=dressed) == [("/evidence/summary", "bare_claim")]

    @pytest.mark.parametrize(
        "summary",
        ["Done: 212 tests pass.", "not done", "it works on my machine", "donee", "ok?ay", "👍", "...", "o k"],
    )
    def test_that_says_more_is_taken(self, summary: str) -> None:
        assert refused(summary=summary) == []

    @given(
        claim=st.sampled_from(sorted(BARE_CLAIMS)), end=st.text(st.sampled_from(PUNCTUATION + " \n\u3000"))
    )
    def test_loses_all_its_final_punctuation(self, claim: str, end: str) -> None:
        assert is_bare_claim(claim + end)

    def test_the_list_is_that_of_the_contract(self) -> None:
        assert len(BARE_CLAIMS) == 28
        assert all(claim == " ".join(claim.casefold().split()) for claim in BARE_CLAIMS)


class TestReferenceUri:
    @pytest.mark.parametrize(
        "uri",
        [
            "https://example.org",
            "HTTPS://EXAMPLE.org:8443/a?b#c",
            "http://[2001:db8::1]/x",
            "http://192.0.2.1",
            "mailto:someone@example.org",
            "git+ssh://host/repo",
            "urn:isbn:0451450523",
            "x:y",
            "a1+.-:z",
            "file:///tmp/report.txt",
            "https://example.org/a@b",
            "https://example.org?user=a@b",
            "https://example.org#a@b",
            "https://example.org/x//y@z",
            "https://exämple.org/ü",
            "x://",
            "https:" + "//h/" + "x" * 4_086,
        ],
    )
    def test_with_a_scheme_and_a_rest_is_taken_as_sent(self, uri: str) -> None:
        assert read(tools.COMPLETE, complete(reference_uri=uri)).evidence.reference_uri == uri

    @pytest.mark.parametrize(
        ("uri", "reason"),
        [
            ("", "format"),
            (":x", "format"),
            ("x:", "format"),
            ("1x:y", "format"),
            ("ä:y", "format"),
            ("x_y:z", "format"),
            ("no scheme", "format"),
            ("/just/a/path", "format"),
            ("https://example.org/a b", "format"),
            ("https://example.org/\u00a0", "format"),
            ("https://example.org/\n", "format"),
            (" https://example.org", "format"),
            ("https://example.org/\x00", "control_character"),
            ("https://example.org/\ud800", "format"),
            ("https:" + "//h/" + "x" * 4_087, "too_long"),
            ("https:example.org", "host_missing"),
            ("https:/example.org", "host_missing"),
            ("http://", "host_missing"),
            ("http:///path", "host_missing"),
            ("http://:80/", "host_missing"),
            ("http://?q", "host_missing"),
            ("http://#f", "host_missing"),
            ("http://[]/", "host_missing"),
            ("http:\\\\example.org", "host_missing"),
            ("https://user@example.org", "credentials"),
            ("https://user:secret@example.org/", "credentials"),
            ("https://@example.org/", "credentials"),
            ("ftp://user:secret@example.org/", "credentials"),
            ("git::https://user:secret@example.org/", "credentials"),
            (7, "type"),
        ],
    )
    def test_of_any_other_form_is_refused(self, uri: Any, reason: str) -> None:
        assert refused(reference_uri=uri) == [("/evidence/reference_uri", reason)]


class TestContentHash:
    @pytest.mark.parametrize("text", ["aB" * 32, "sha256:" + "Ab" * 32])
    def test_is_stored_with_prefix_and_in_lower_case(self, text: str) -> None:
        found = read(tools.COMPLETE, complete(content_hash=text)).evidence.content_hash
        assert found == "sha256:" + "ab" * 32

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "ab" * 31,
            "ab" * 33,
            "SHA256:" + "ab" * 32,
            "sha256:",
            "g" * 64,
            " " + "ab" * 32,
            "ab" * 32 + "\n",
            "sha512:" + "ab" * 32,
            "٣" * 64,
        ],
    )
    def test_of_any_other_form_is_refused(self, text: str) -> None:
        assert refused(content_hash=text) == [("/evidence/content_hash", "format")]


class TestReference:
    def test_by_hash_alone_is_enough(self) -> None:
        assert refused(reference_uri=None, content_hash="ab" * 32) == []

    def test_is_needed(self) -> None:
        bare = {key: value for key, value in EVIDENCE.items() if key != "reference_uri"}
        for evidence in (bare, {**bare, "reference_uri": None, "content_hash": None}):
            arguments = changed(MOST[tools.COMPLETE], "/evidence", evidence)
            assert failures(tools.COMPLETE, arguments) == [("/evidence", "needs_reference")]

    def test_that_is_wrong_is_not_told_to_be_missing(self) -> None:
        assert refused(reference_uri="x") == [("/evidence/reference_uri", "format")]


class TestObservedAt:
    def test_may_lie_300_seconds_ahead_and_no_more(self) -> None:
        assert refused(observed_at=stamp(NOW + 300_000)) == []
        assert refused(observed_at=stamp(NOW + 300_001)) == [("/evidence/observed_at", "too_far_ahead")]

    def test_may_lie_in_any_past(self) -> None:
        assert refused(observed_at="0001-01-01T00:00:00Z") == []


def test_metadata_are_kept_value_for_value() -> None:
    evidence = read(
        tools.COMPLETE, complete(metadata={"b": 1.0, "a": "\x01", "observed_at": [2026]})
    ).evidence
    assert evidence.metadata_json == '{"b":1.0,"a":"\\u0001","observed_at":[2026]}'
    assert read(tools.COMPLETE, complete(metadata={})).evidence.metadata_json == "{}"
    assert refused(metadata=[]) == [("/evidence/metadata", "type")]


@pytest.mark.parametrize("kind", EvidenceType)
def test_every_type_is_taken(kind: EvidenceType) -> None:
    assert read(tools.COMPLETE, complete(type=kind.name.lower())).evidence.type is kind
