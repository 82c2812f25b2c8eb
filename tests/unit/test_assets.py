"""Custom asset files at the start (contract 17.3)."""

import os
from pathlib import Path

import pytest

from remindi.config import Config
from web.assets import (
    MAX_CSS_BYTES,
    MAX_FAVICON_BYTES,
    MAX_LOGO_BYTES,
    Asset,
    Assets,
    find_asset_faults,
    load_assets,
)

PNG = b"\x89PNG\r\n\x1a\n"
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'/>"
SIGNATURES = {
    "logo.svg": (SVG, "image/svg+xml"),
    "logo.SVG": (b'<?xml version="1.0"?>\n' + SVG, "image/svg+xml"),
    "logo.png": (PNG, "image/png"),
    "logo.jpg": (b"\xff\xd8\xff\xe0", "image/jpeg"),
    "logo.jpeg": (b"\xff\xd8\xff\xe1", "image/jpeg"),
    "logo.gif": (b"GIF89a", "image/gif"),
    "logo.webp": (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
}


def configured(**paths: Path) -> Config:
    """Return a configuration that names asset files."""
    files = {f"webui_{name}_file": str(path) for name, path in paths.items()}
    return Config(owner_id="o", mcp_token="x" * 16, **files)  # type: ignore[arg-type]


def made(folder: Path, name: str, content: bytes) -> Path:
    """Write a file."""
    path = folder / name
    path.write_bytes(content)
    path.chmod(0o644)
    return path


def fault(**paths: Path) -> str:
    """Return the one fault of a configuration; it names no path."""
    (found,) = find_asset_faults(configured(**paths))
    assert not any(str(path) in str(found) for path in paths.values())
    return str(found)


def test_nothing_configured_keeps_everything_built_in() -> None:
    assert load_assets(configured()) == Assets(None, None, None)


@pytest.mark.parametrize("name", SIGNATURES)
def test_an_image_is_served_as_what_it_is(tmp_path: Path, name: str) -> None:
    content, media_type = SIGNATURES[name]
    path = made(tmp_path, name, content)
    assert load_assets(configured(logo=path, favicon=path)) == Assets(
        None, Asset(media_type, content), Asset(media_type, content)
    )


def test_an_icon_may_be_a_favicon_and_no_logo(tmp_path: Path) -> None:
    path = made(tmp_path, "icon.ico", b"\x00\x00\x01\x00\x01\x00")
    assert find_asset_faults(configured(favicon=path)) == ()
    assert fault(logo=path).startswith("REMINDI_WEBUI_LOGO_FILE must name a file with one of the extensions")


def test_a_style_sheet_is_utf_8(tmp_path: Path) -> None:
    good = made(tmp_path, "good.css", "body { content: 'é' }".encode())
    loaded = load_assets(configured(custom_css=good))
    assert isinstance(loaded, Assets)
    assert loaded.css == Asset("text/css; charset=utf-8", good.read_bytes())
    assert "UTF-8" in fault(custom_css=made(tmp_path, "bad.css", b"\xe9"))


def test_an_empty_file_keeps_the_default(tmp_path: Path) -> None:
    empty = made(tmp_path, "empty.png", b"")
    assert load_assets(configured(custom_css=empty, logo=empty, favicon=empty)) == Assets(None, None, None)


@pytest.mark.parametrize(
    ("asset", "cap"),
    [("custom_css", MAX_CSS_BYTES), ("logo", MAX_LOGO_BYTES), ("favicon", MAX_FAVICON_BYTES)],
)
def test_sizes_are_bounded_exactly(tmp_path: Path, asset: str, cap: int) -> None:
    head = b"" if asset == "custom_css" else PNG
    fits = made(tmp_path, "fits.png", head + b" " * (cap - len(head)))
    assert find_asset_faults(configured(**{asset: fits})) == ()
    large = made(tmp_path, "large.png", fits.read_bytes() + b" ")
    assert f"at most {cap} bytes" in fault(**{asset: large})


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("logo.png", SVG),
        ("logo.svg", PNG),
        ("logo.gif", b"GIF88a"),
        ("logo.webp", b"RIFF\x00\x00\x00\x00WAVE"),
        ("logo.svg", b"<!DOCTYPE html><svg/>"),
        ("logo.svg", b"<svgx/>"),
        ("logo.svg", b"text <svg/>"),
        ("logo.txt", PNG),
        ("logo", PNG),
    ],
)
def test_extension_and_content_must_agree(tmp_path: Path, name: str, content: bytes) -> None:
    assert fault(logo=made(tmp_path, name, content))


@pytest.mark.parametrize(
    "active",
    [
        b"<script>x()</script>",
        b"<ScRiPt src='x'/>",
        b"< script>",
        b"<svg:script/>",
        b"<a href='JavaScript:x()'/>",
        b"<a href='javascript :x()'/>",
        b"<foreignObject/>",
        b"<FOREIGNOBJECT>",
    ],
)
def test_an_svg_that_could_act_is_refused(tmp_path: Path, active: bytes) -> None:
    assert "without script" in fault(logo=made(tmp_path, "logo.svg", b"<svg>" + active + b"</svg>"))


def test_what_is_no_readable_regular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.png"
    os.mkfifo(pipe, 0o600)
    shared = made(tmp_path, "shared.png", PNG)
    shared.chmod(0o666)
    assert "can be read: No such file" in fault(logo=tmp_path / "missing.png")
    assert "regular file" in fault(logo=pipe)
    assert "regular file" in fault(logo=tmp_path)
    assert "not everybody may write" in fault(logo=shared)


def test_every_faulty_file_is_told_at_once(tmp_path: Path) -> None:
    missing = tmp_path / "missing.png"
    faults = find_asset_faults(configured(custom_css=missing, logo=missing, favicon=missing))
    assert [fault.variable for fault in faults] == [
        "REMINDI_WEBUI_CUSTOM_CSS_FILE",
        "REMINDI_WEBUI_LOGO_FILE",
        "REMINDI_WEBUI_FAVICON_FILE",
    ]
