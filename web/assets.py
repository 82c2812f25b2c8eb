"""Custom assets: the files that the WebUI is dressed with, read once at the start (contract 17.3)."""

import os
import re
import stat
from pathlib import Path
from typing import Final, NamedTuple

from remindi.config import Config, Fault

MAX_CSS_BYTES: Final = 262_144
MAX_LOGO_BYTES: Final = 2_097_152
MAX_FAVICON_BYTES: Final = 524_288

_SVG: Final = "image/svg+xml"
_TYPES: Final = {
    ".svg": _SVG,
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
_ICON_TYPES: Final = {**_TYPES, ".ico": "image/x-icon"}
_ACTIVE_SVG: Final = re.compile(rb"<\s*(?:[a-z0-9_.-]+:)?script|javascript\s*:|foreignobject", re.IGNORECASE)
_SVG_START: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<svg[\s>/]|<\?xml\s)")


class Asset(NamedTuple):
    """What is served instead of a built-in file."""

    media_type: str
    content: bytes


class Assets(NamedTuple):
    """The custom files; None where the built-in one stays."""

    css: Asset | None
    logo: Asset | None
    favicon: Asset | None


class AssetFault(Exception):
    """A file that cannot be served; the text is the rule it breaks, never its path or content."""


ASSET_VARIABLES: Final = (
    "REMINDI_WEBUI_CUSTOM_CSS_FILE",
    "REMINDI_WEBUI_LOGO_FILE",
    "REMINDI_WEBUI_FAVICON_FILE",
)


def load_assets(config: Config) -> Assets | tuple[Fault, ...]:
    """Read the configured files, or say what is wrong with each of them."""
    faults: list[Fault] = []
    read: list[Asset | None] = []
    files: tuple[tuple[str | None, int, dict[str, str] | None], ...] = (
        (config.webui_custom_css_file, MAX_CSS_BYTES, None),
        (config.webui_logo_file, MAX_LOGO_BYTES, _TYPES),
        (config.webui_favicon_file, MAX_FAVICON_BYTES, _ICON_TYPES),
    )
    for variable, (path, cap, types) in zip(ASSET_VARIABLES, files, strict=True):
        try:
            read.append(None if path is None else _asset(Path(path), cap, types))
        except AssetFault as fault:
            faults.append(Fault(variable, str(fault)))
    return tuple(faults) if faults else Assets(*read)


def find_asset_faults(config: Config) -> tuple[Fault, ...]:
    """What keeps the configured files from being served; empty when nothing does."""
    loaded = load_assets(config)
    return () if isinstance(loaded, Assets) else loaded


def _asset(path: Path, cap: int, types: dict[str, str] | None) -> Asset | None:
    """One file; None when it is empty."""
    content = _content(path, cap)
    if not content:
        return None
    if types is None:
        try:
            content.decode("utf-8")
        except UnicodeDecodeError:
            raise AssetFault("must name a file in UTF-8") from None
        return Asset("text/css; charset=utf-8", content)
    claimed = types.get(path.suffix.lower())
    if claimed is None:
        raise AssetFault(f"must name a file with one of the extensions {', '.join(types)}")
    if _detected(content) != claimed:
        raise AssetFault("must name a file whose content is what its extension says")
    if claimed == _SVG and _ACTIVE_SVG.search(content):
        raise AssetFault("must name an SVG without script, javascript: and foreignObject")
    return Asset(claimed, content)


def _content(path: Path, cap: int) -> bytes:
    try:
        # NOTE: O_NONBLOCK, or the opening of a named pipe would wait for its writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise AssetFault(f"must name a file that can be read: {error.strerror}") from None
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise AssetFault("must name a regular file")
        if state.st_mode & stat.S_IWOTH:
            raise AssetFault("must name a file that not everybody may write")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(cap + 1)
    except OSError as error:
        raise AssetFault(f"must name a file that can be read: {error.strerror}") from None
    finally:
        os.close(descriptor)
    if len(content) > cap:
        raise AssetFault(f"must name a file of at most {cap} bytes")
    return content


def _detected(content: bytes) -> str | None:
    """The media type that the first bytes tell."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return "image/webp"
    if content.startswith(b"\x00\x00\x01\x00"):
        return "image/x-icon"
    return _SVG if _SVG_START.match(content) else None
