"""Completion evidence as an argument (contract 2.6)."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, ValidationInfo
from pydantic.json_schema import JsonSchemaValue

from remindi import evidence as domain
from remindi.inputs.failures import Arguments, Failure
from remindi.inputs.fields import (
    MAX_NESTING,
    Instant,
    OwnObject,
    StringField,
    Text,
    Token,
    Word,
    checked_characters,
    refuse,
)

MAX_SUMMARY_CHARACTERS: Final = 4_096
MAX_URI_CHARACTERS: Final = 4_096
OBSERVED_AHEAD_MS: Final = 300_000
"""How far the observer's clock may run ahead of ours."""
HASH_PREFIX: Final = "sha256:"
BARE_CLAIMS: Final = frozenset(
    {
        "done",
        "all done",
        "ok",
        "okay",
        "yes",
        "yep",
        "fixed",
        "works",
        "it works",
        "working",
        "lgtm",
        "looks good",
        "looks good to me",
        "good",
        "all good",
        "fine",
        "complete",
        "completed",
        "finished",
        "resolved",
        "passed",
        "pass",
        "success",
        "successful",
        "verified",
        "confirmed",
        "no issues",
        "no problems",
    }
)
"""Summaries that claim and show nothing."""

_LONGEST_BARE_CLAIM: Final = max(map(len, BARE_CLAIMS))
_URI_PATTERN: Final = r"^[A-Za-z][A-Za-z0-9+.\-]*:.+$"
_SCHEME_AND_REST: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):(.+)", re.DOTALL)
_AUTHORITY: Final = re.compile(r"//([^/?#]*)")
_HOST: Final = re.compile(r"\[[^\[\]]+\]|[^:\\\[\]]+")
_WHITE_SPACE: Final = re.compile(r"\s")


def is_bare_claim(summary: str) -> bool:
    """Whether a summary is one of ``BARE_CLAIMS``, in any case, spacing and final punctuation."""
    claim = " ".join(summary.casefold().split())
    end = len(claim)
    # White space before or between the final punctuation goes with it: "done !" claims no more than "done!".
    while end and (claim[end - 1] == " " or unicodedata.category(claim[end - 1]).startswith("P")):
        end -= 1
    return end <= _LONGEST_BARE_CLAIM and claim[:end] in BARE_CLAIMS


def _not_bare(summary: str) -> str:
    if is_bare_claim(summary):
        raise refuse("bare_claim")
    return summary


class ReferenceUri(StringField):
    """A URI that can be looked up: a scheme, a rest, no white space and no credentials."""

    __slots__ = ()

    def read(self, text: str) -> str:
        """The URI as sent."""
        checked_characters(text)
        if len(text) > MAX_URI_CHARACTERS:
            raise refuse("too_long")
        parts = _SCHEME_AND_REST.fullmatch(text)
        if parts is None or _WHITE_SPACE.search(text) is not None:
            raise refuse("content_format")
        scheme, rest = parts.groups()
        # NOTE: not only right after the colon; "git::https://user:secret@host" names credentials as well.
        authority = _AUTHORITY.search(rest)
        if authority is not None and "@" in authority[1]:
            raise refuse("credentials")
        if scheme.lower() in ("http", "https") and not _names_host(rest):
            raise refuse("host_missing")
        return text

    def published(self) -> JsonSchemaValue:
        """Bound and form."""
        return {"type": "string", "maxLength": MAX_URI_CHARACTERS, "pattern": _URI_PATTERN}


def _names_host(rest: str) -> bool:
    authority = _AUTHORITY.match(rest)
    return authority is not None and _HOST.match(authority[1]) is not None


def _with_prefix(content_hash: str) -> str:
    return HASH_PREFIX + content_hash.removeprefix(HASH_PREFIX).lower()


def _observed(observed_at: int, info: ValidationInfo[int]) -> int:
    if observed_at > info.context + OBSERVED_AHEAD_MS:
        raise refuse("too_far_ahead")
    return observed_at


class Evidence(Arguments):
    """``evidence``."""

    type: Annotated[
        domain.EvidenceType, Word(domain.EvidenceType), Field(description="What kind of proof it is.")
    ]
    summary: Annotated[
        str,
        Text(MAX_SUMMARY_CHARACTERS, trimmed=True),
        AfterValidator(_not_bare),
        Field(
            description="What was seen that shows it, in your own words. Refused when it only claims, like "
            "'done', 'fixed', 'works', 'verified' or 'LGTM'."
        ),
    ]
    reference_uri: Annotated[
        Annotated[str, ReferenceUri()] | None,
        Field(
            description="Where it can be looked up: a URI with a scheme, without white space and without "
            "credentials; http and https need a host. Required unless content_hash is given."
        ),
    ] = None
    content_hash: Annotated[
        Annotated[str, Token(r"^(?:sha256:)?[0-9a-fA-F]{64}$"), AfterValidator(_with_prefix)] | None,
        Field(
            description="SHA-256 of what was seen: 64 hex digits, with or without the prefix sha256: before "
            "them. Required unless reference_uri is given."
        ),
    ] = None
    observed_at: Annotated[
        int,
        Instant(),
        AfterValidator(_observed),
        Field(
            description=f"When it was seen; at most {OBSERVED_AHEAD_MS // 1_000} seconds ahead of the "
            "server's clock."
        ),
    ]
    metadata: Annotated[
        Annotated[str, OwnObject()] | None,
        Field(
            description="Anything more as a JSON object, which comes back value for value. At most "
            f"{MAX_NESTING} levels deep."
        ),
    ] = None


def evidence_value(evidence: Evidence) -> domain.Evidence:
    """The domain's evidence."""
    return domain.Evidence(
        evidence.type,
        evidence.summary,
        evidence.reference_uri,
        evidence.content_hash,
        evidence.observed_at,
        evidence.metadata,
    )


def has_reference(arguments: Mapping[str, Any]) -> list[Failure]:
    """The rule that evidence can be looked up: by a URI or by a hash."""
    evidence = arguments["evidence"]
    if evidence.get("reference_uri") is None and evidence.get("content_hash") is None:
        return [("/evidence", "needs_reference")]
    return []
