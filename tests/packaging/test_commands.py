"""The commands that the documentation names exist, and those that exist explain themselves."""

import re

import pytest

from tests.packaging.conftest import ROOT

DOCUMENTS = ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "bench/README.md")

pytestmark = pytest.mark.docs


def targets() -> set[str]:
    """Return the phony targets of the Makefile."""
    return set(re.findall(r"^\.PHONY: (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE))


def commands(text: str) -> str:
    """Return what a document shows as code: fenced blocks and spans between backticks."""
    return "\n".join(re.findall(r"^```.*?^```|`[^`\n]+`", text, re.MULTILINE | re.DOTALL))


def test_every_make_target_explains_itself() -> None:
    explained = set(re.findall(r"^([a-z]+):.* ## \S", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert targets() == explained


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_make_command_of_a_document_is_a_target(document: str) -> None:
    named = set(re.findall(r"\bmake ([a-z]+)", commands((ROOT / document).read_text())))
    assert named - targets() == set()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_relative_link_of_a_document_leads_to_a_file(document: str) -> None:
    place = ROOT / document
    links = re.findall(r"\]\((?![a-z]+:|#)([^)#\s]+)", place.read_text())
    assert [link for link in links if not (place.parent / link).exists()] == []
