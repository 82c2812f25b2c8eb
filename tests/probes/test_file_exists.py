"""``file_exists``: metadata only, under a root only, whatever symbolic links say (contract 7.3, 7.4)."""

import os
from pathlib import Path
from typing import Any

import pytest

from actors.probes import file_exists
from actors.probes.adapters import check_configuration
from remindi.adapters import FileExistsConfiguration, read_configuration
from remindi.errors import FieldError, Refusal, invalid
from tests.probes.looks import file


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root; what lies beside it is outside."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    root = tmp_path / "root"
    (root / "inner").mkdir(parents=True)
    (root / "inner" / "marker").write_text("here")
    return root


@pytest.mark.parametrize(
    "path", ["inner/marker", "inner", "", ".", "inner/./marker", "inner//marker", "inner/"]
)
def test_what_is_there_satisfies(path: str, root: Path) -> None:
    assert file(f"{root}/{path}", str(root)) == file_exists.THERE


@pytest.mark.parametrize("path", ["nothing", "inner/nothing", "nothing/at/all", "inner/marker/below"])
def test_what_is_not_there_does_not_satisfy(path: str, root: Path) -> None:
    assert file(f"{root}/{path}", str(root)) == file_exists.NOT_THERE


def test_only_metadata_is_read(root: Path) -> None:
    os.mkfifo(root / "fifo")
    (root / "closed").write_text("x")
    (root / "closed").chmod(0)
    for name in ("fifo", "closed"):
        before = (root / name).stat()
        assert file(f"{root}/{name}", str(root)) == file_exists.THERE
        assert (root / name).stat().st_atime_ns == before.st_atime_ns


def test_links_inside_a_root_are_followed(root: Path) -> None:
    (root / "link").symlink_to("inner/marker")
    (root / "folder").symlink_to(root / "inner")
    (root / "dangling").symlink_to("inner/nothing")
    assert file(f"{root}/link", str(root)) == file_exists.THERE
    assert file(f"{root}/folder/marker", str(root)) == file_exists.THERE
    assert file(f"{root}/dangling", str(root)) == file_exists.NOT_THERE


@pytest.mark.parametrize("target", ["../outside/secret", "../outside/nothing", "/etc/hostname", "/"])
def test_links_out_of_every_root_are_an_error_whatever_is_there(target: str, root: Path) -> None:
    (root / "link").symlink_to(target)
    assert file(f"{root}/link", str(root)) == file_exists.OUTSIDE


def test_a_path_outside_is_an_error_whatever_is_there(root: Path) -> None:
    for name in ("outside", "outside/secret", "nothing", "root-too"):
        assert file(f"{root.parent}/{name}", str(root)) == file_exists.OUTSIDE
    assert file(f"{root}/inner") == file_exists.OUTSIDE


def test_a_link_from_one_root_into_another_is_no_way_out(root: Path) -> None:
    (root / "link").symlink_to("../outside/secret")
    assert file(f"{root}/link", str(root), str(root.parent / "outside")) == file_exists.THERE


def test_a_root_may_be_a_link_and_may_be_everything(root: Path) -> None:
    linked = root.parent / "linked"
    linked.symlink_to(root)
    assert file(f"{linked}/inner/marker", str(linked)) == file_exists.THERE
    assert file(f"{linked}/inner/marker", str(root)) == file_exists.THERE
    assert file(f"{root}/inner/marker", f"{root}/inner/..") == file_exists.THERE
    assert file(f"{root}/inner/marker", "/") == file_exists.THERE
    assert file(f"/{root}/inner/marker", f"/{root}") == file_exists.THERE


def test_a_missing_root_is_unknown_and_harms_no_other(root: Path) -> None:
    gone = root.parent / "gone"
    roots = (str(gone), str(root))
    assert file(f"{gone}/marker", *roots) == file_exists.ROOT_MISSING
    assert file(f"{gone}", *roots) == file_exists.ROOT_MISSING
    assert file(f"{root}/inner/marker", *roots) == file_exists.THERE
    assert file(f"{root}/nothing", *roots) == file_exists.NOT_THERE
    assert file(f"{root.parent}/outside", *roots) == file_exists.OUTSIDE
    assert file(f"{root.parent}/gone-too", *roots) == file_exists.OUTSIDE


def test_a_root_that_is_a_dangling_link_is_missing(root: Path) -> None:
    linked = root.parent / "linked"
    linked.symlink_to("gone")
    assert file(f"{linked}/marker", str(linked)) == file_exists.ROOT_MISSING


def test_a_missing_root_below_another_is_simply_not_there(root: Path) -> None:
    assert file(f"{root}/gone/marker", str(root), f"{root}/gone") == file_exists.NOT_THERE


def test_a_circle_of_links_is_an_error(root: Path) -> None:
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("one")
    assert file(f"{root}/one", str(root)) == file_exists.NOT_READABLE
    assert file(f"{root}/one/below", str(root)) == file_exists.NOT_READABLE
    assert file(f"{root}/inner/marker", f"{root}/one", str(root)) == file_exists.THERE


def test_a_name_that_no_file_can_have_is_an_error(root: Path) -> None:
    assert file(f"{root}/{'x' * 300}", str(root)) == file_exists.NOT_READABLE


@pytest.fixture
def swapped(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Acts that happen once the path was resolved, before it is looked at."""
    acts: list[Any] = []
    look = file_exists._look

    def late(*arguments: Path) -> Any:
        for act in acts:
            act()
        return look(*arguments)

    monkeypatch.setattr(file_exists, "_look", late)
    return acts


def test_a_link_that_is_put_there_while_looking_leads_nowhere(root: Path, swapped: list[Any]) -> None:
    def swap() -> None:
        (root / "inner").rename(root / "moved")
        (root / "inner").symlink_to("../outside")

    swapped.append(swap)
    assert file(f"{root}/inner/secret", str(root)) == file_exists.NOT_READABLE


def test_a_last_part_that_becomes_a_link_while_looking_is_not_followed(
    root: Path, swapped: list[Any]
) -> None:
    swapped.append(lambda: (root / "late").symlink_to("../outside/secret"))
    assert file(f"{root}/late", str(root)) == file_exists.NOT_READABLE


def test_a_root_that_vanishes_while_looking_is_missing(root: Path, swapped: list[Any]) -> None:
    swapped.append(lambda: root.rename(root.parent / "elsewhere"))
    assert file(f"{root}/inner/marker", str(root)) == file_exists.ROOT_MISSING


def test_no_descriptor_is_left_open(root: Path, swapped: list[Any]) -> None:
    (root / "link").symlink_to("../outside")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for name in ("inner/marker", "nothing", "inner/marker/below", "x" * 300, "link"):
        file(f"{root}/{name}", str(root))
    swapped.append(lambda: (root / "late").symlink_to("../outside/secret"))
    file(f"{root}/late", str(root))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


# ------------------------------------------------------------------ configuration


def checked(roots: list[str], **aliases: str) -> Refusal | None:
    configuration = read_configuration(
        "file_exists", {"type": "file_exists", "roots": roots, "aliases": aliases}
    )
    assert not isinstance(configuration, Refusal)
    return check_configuration(configuration)


def test_roots_that_are_there_and_aliases_below_them_may_be_saved(root: Path) -> None:
    (root / "dangling").symlink_to("inner/nothing")
    assert checked([]) is None
    assert (
        checked(
            [str(root), "/"],
            marker=f"{root}/inner/marker",
            later=f"{root}/not/yet/there",
            root=str(root),
            dangling=f"{root}/dangling",
        )
        is None
    )


def test_each_root_that_is_not_there_is_named(root: Path) -> None:
    assert checked([f"{root}/gone", str(root), f"{root}/inner/marker/x"], later=f"{root}/x") == invalid(
        ("/configuration/roots/0", "format"), ("/configuration/roots/2", "format")
    )


def test_each_alias_that_leads_out_is_named(root: Path) -> None:
    (root / "out").symlink_to("../outside")
    (root / "dangling").symlink_to("../outside/nothing")
    (root / "circle").symlink_to("circle")
    refused = checked(
        [str(root)],
        **{
            "fine": f"{root}/x",
            "beside": f"{root}-too/x",
            "out": f"{root}/out/secret",
            "out-later": f"{root}/out/not/yet",
            "dangling": f"{root}/dangling",
            "circle": f"{root}/circle",
            "etc": "/etc/hostname",
            "nowhere": "/nowhere/at/all",
        },
    )
    assert refused is not None
    assert set(refused.errors) == {
        FieldError(f"/configuration/aliases/{name}", "format")
        for name in ("beside", "out", "out-later", "dangling", "circle", "etc", "nowhere")
    }


def test_an_alias_without_any_root_leads_out(root: Path) -> None:
    assert checked([], marker=f"{root}/inner/marker") == invalid(("/configuration/aliases/marker", "format"))


def test_many_roots_and_aliases_are_each_looked_at_once(tmp_path: Path) -> None:
    for number in range(1_000):
        (tmp_path / str(number)).mkdir()
    configuration = FileExistsConfiguration.model_validate(
        {
            "type": "file_exists",
            "roots": [*(str(tmp_path / str(number)) for number in range(1_000)), *[str(tmp_path)] * 9_000],
            "aliases": {f"a{number}": str(tmp_path / "999" / str(number)) for number in range(1_000)},
        }
    )
    assert file_exists.check(configuration) is None
