"""Completion evidence as an argument (contract 2.6)."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from remindi import evidence as domain
from remindi.inputs.failures import Arguments, Failure
from remindi.inputs.fields import Instant, OwnObject, Text, Token, Word, checked_characters, refuse

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
_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):(?://([^/?#]*))?(.*)", re.DOTALL)
_WHITE_SPACE: Final = re.compile(r"\s")
_HOST: Final = re.compile(r"\[[^\]]+\]|[^:\\]+")


def is_bare_claim(summary: str) -> bool:
    """Whether a summary only claims: it is one of ``BARE_CLAIMS`` in any case, spacing and final punctuation."""
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


class ReferenceUri:
    """A URI that can be looked up: a scheme, a rest, no white space and no credentials."""

    __slots__ = ()

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read a string by ``read``."""
        return core_schema.no_info_after_validator_function(self.read, core_schema.str_schema(strict=True))

    def __get_pydantic_json_schema__(
        self, _core: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Publish bound and form."""
        return {"type": "string", "maxLength": MAX_URI_CHARACTERS, "pattern": _URI_PATTERN}

    @staticmethod
    def read(uri: str) -> str:
        """The URI as sent."""
        checked_characters(uri)
        if len(uri) > MAX_URI_CHARACTERS:
            raise refuse("too_long")
        found = _URI.fullmatch(uri)
        if found is None or _WHITE_SPACE.search(uri) is not None:
            raise refuse("content_format")
        scheme, authority, rest = found.groups()
        if not authority and not rest:
            # Nothing, or only "//", follows the colon.
            raise refuse("host_missing" if authority is not None and _is_web(scheme) else "content_format")
        if authority is not None and "@" in authority:
            raise refuse("credentials")
        if _is_web(scheme) and (not authority or _HOST.match(authority) is None):
            raise refuse("host_missing")
        return uri


def _is_web(scheme: str) -> bool:
    return scheme.lower() in ("http", "https")


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
            description="What was seen, in your words. A bare claim such as 'done', 'fixed', 'works', 'verified' or "
            "'LGTM' is refused."
        ),
    ]
    reference_uri: (
        Annotated[
            str,
            ReferenceUri(),
            Field(
                description="Where it can be looked up: a URI with a scheme, without white space and without "
                "credentials; http and https need a host. Needed unless content_hash is given."
            ),
        ]
        | None
    ) = None
    content_hash: (
        Annotated[
            str,
            Token(r"^(?:sha256:)?[0-9a-fA-F]{64}$"),
            AfterValidator(_with_prefix),
            Field(
                description="SHA-256 of what was seen: 64 hex digits, with or without the prefix sha256:. Needed "
                "unless reference_uri is given."
            ),
        ]
        | None
    ) = None
    observed_at: Annotated[
        int,
        Instant(),
        AfterValidator(_observed),
        Field(description="When it was seen; at most 300 seconds after the server's clock."),
    ]
    metadata: (
        Annotated[
            str,
            OwnObject(),
            Field(
                description="Anything more, as a JSON object at most 64 levels deep; it comes back value for value."
            ),
        ]
        | None
    ) = None


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
