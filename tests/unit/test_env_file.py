"""Env files: literal NAME=VALUE lines; an error names file and line, never a value."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remindi.cli.envfile import MAX_BYTES, EnvFileError, parse_env_text, read_env_file, write_value


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("X=plain", "plain"),
        ("  X = spaced out  ", "spaced out"),
        ("export X=exported", "exported"),
        ("X=", ""),
        ("X=''", ""),
        ("X='single \"quoted\" # $HOME'", 'single "quoted" # $HOME'),
        ("X=\"double 'quoted' \\n\"", "double 'quoted' \\n"),
        ("X=$HOME `id` ${Y} \\n", "$HOME `id` ${Y} \\n"),
        ("X=value # comment", "value"),
        ("X=#comment", ""),
        ("X=a#b", "a#b"),
        ("X='quoted' # comment", "quoted"),
        ("X=a=b==", "a=b=="),
        ("X=it's", "it's"),
        ("X=carriage\r", "carriage"),
        ("X=ünïcode", "ünïcode"),
    ],
)
def test_a_value_is_what_the_line_says(line: str, value: str) -> None:
    assert parse_env_text(f"# first\n\n{line}\n", "f") == {"X": value}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("just text", "is not NAME=VALUE"),
        ("=value", "is not NAME=VALUE"),
        ("1X=value", "is not NAME=VALUE"),
        ("X-Y=value", "is not NAME=VALUE"),
        ("X=nul\x00byte", "is not NAME=VALUE"),
        ("X='open", "quote that does not end"),
        ('X="closed" text', "quote that does not end"),
        ("A=again", "A stands in an earlier line"),
    ],
)
def test_a_wrong_line_is_named_by_file_and_number_without_its_value(line: str, problem: str) -> None:
    with pytest.raises(EnvFileError) as caught:
        parse_env_text(f"A=1\n{line}\n", "some.env")
    assert str(caught.value).startswith("some.env, line 2")
    assert problem in str(caught.value)
    assert "value" not in str(caught.value).replace("NAME=VALUE", "")


def test_a_file_that_is_not_there_or_no_file_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.env", tmp_path):
        with pytest.raises(EnvFileError, match=r"cannot be read"):
            read_env_file(path)


def test_a_file_in_another_encoding_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.env"
    path.write_bytes(b"A=1\nB=\xe9\n")
    with pytest.raises(EnvFileError, match=r"line 2: is not valid UTF-8"):
        read_env_file(path)


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    path = tmp_path / "bom.env"
    path.write_bytes(b"\xef\xbb\xbfA=1\n")
    assert read_env_file(path) == {"A": "1"}


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.env"
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(EnvFileError, match=r"is larger than"):
        read_env_file(path)


@given(st.text(alphabet=st.characters(min_codepoint=32, exclude_categories=("Cs", "Cc")), max_size=30))
def test_what_can_be_written_is_read_back(text: str) -> None:
    try:
        written = write_value(text)
    except ValueError:
        assert "'" in text
        assert '"' in text
    else:
        assert parse_env_text(f"X={written}", "f") == {"X": text}
