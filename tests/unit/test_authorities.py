"""Host and Origin in their normal forms (contract 10.1)."""

import pytest

from remindi.authorities import Origin, parse_authority, parse_origin


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("localhost", "localhost"),
        ("LocalHost:8000", "localhost:8000"),
        ("h:443", "h:443"),
        ("h:080", "h:080"),
        ("a_b.example-1.test", "a_b.example-1.test"),
        ("example.test.", "example.test."),
        ("127.0.0.1:65535", "127.0.0.1:65535"),
        ("[::1]", "[::1]"),
        ("[0:0:0:0:0:0:0:1]:8000", "[::1]:8000"),
        ("[2001:DB8::A]", "[2001:db8::a]"),
        ("[::ffff:127.0.0.1]", "[::ffff:7f00:1]"),
    ],
)
def test_an_authority_has_one_normal_form(text: str, normal: str) -> None:
    assert parse_authority(text) == normal


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        " h",
        "h ",
        "h\t",
        "h\n",
        "h:",
        ":80",
        "h:80:80",
        "h:65536",
        "h:-1",
        "h:+1",
        "h:8o",
        "h:٣",
        "h:123456",
        "user@h",
        "user:pw@h",
        "h/",
        "h?q",
        "h#f",
        "h,i",
        "h i",
        "%6c",
        "hé",
        "\x00",
        "::1",
        "[::1",
        "[::1%25eth0]",
        "[::1%eth0]",
        "[1.2.3.4]",
        "[::1]x",
        "[]",
        "a" * 262,
    ],
)
def test_a_malformed_authority_is_none(text: str) -> None:
    assert parse_authority(text) is None


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("http://h", Origin("http", "h")),
        ("HTTPS://H:443", Origin("https", "h:443")),
        ("https://[::1]:8000", Origin("https", "[::1]:8000")),
    ],
)
def test_an_origin_has_one_normal_form(text: str, normal: Origin) -> None:
    assert parse_origin(text) == normal


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "h",
        "//h",
        "http:h",
        "http:/h",
        "http://",
        "http://h/",
        "http://h/x",
        "http://h?q",
        "http://h#f",
        "http://u@h",
        "http://h ",
        " http://h",
        "http://h\nhttp://h",
        "ftp://h",
        "chrome-extension://abc",
        "http://h, http://h",
        "http://h http://i",
    ],
)
def test_anything_but_a_bare_web_origin_is_none(text: str) -> None:
    assert parse_origin(text) is None
