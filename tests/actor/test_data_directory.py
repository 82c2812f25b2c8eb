"""The data directory: private, ours alone, locked; and one line that helps when it cannot be."""

import multiprocessing
import os
import stat
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from actors import data_directory
from actors.data_directory import DirectoryInUse, DirectoryUnusable

VARIABLE = "REMINDI_DB_PATH"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "data"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o022, 0o000])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_a_missing_directory_is_made_private(directory: Path) -> None:
    data_directory.prepare(directory / "deeper", VARIABLE)
    assert mode(directory / "deeper") == 0o700


def test_an_existing_directory_is_made_private_and_keeps_what_it_holds(directory: Path) -> None:
    directory.mkdir(mode=0o755)
    (directory / "remindi.db").write_bytes(b"x")
    data_directory.prepare(directory, VARIABLE)
    assert mode(directory) == 0o700
    assert (directory / "remindi.db").read_bytes() == b"x"


@pytest.mark.parametrize("rights", [0o000, 0o500, 0o070])
def test_rights_that_the_owner_lacks_are_given(directory: Path, rights: int) -> None:
    directory.mkdir()
    directory.chmod(rights)
    data_directory.prepare(directory, VARIABLE)
    assert mode(directory) == 0o700


def test_a_directory_that_everybody_may_write_to_is_refused(directory: Path) -> None:
    directory.mkdir()
    directory.chmod(0o777)
    with pytest.raises(DirectoryUnusable) as caught:
        data_directory.prepare(directory, VARIABLE)
    assert_helps(caught.value, directory)
    assert mode(directory) == 0o777


def test_a_directory_of_another_user_is_refused(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: 10_001)
    with pytest.raises(DirectoryUnusable) as caught:
        data_directory.prepare(directory, VARIABLE)
    assert_helps(caught.value, directory)
    assert "10001" in str(caught.value)
    assert f"uid {os.getuid()}" in str(caught.value)


def test_a_file_in_its_place_is_refused(directory: Path) -> None:
    directory.write_text("")
    with pytest.raises(DirectoryUnusable) as caught:
        data_directory.prepare(directory, VARIABLE)
    assert str(directory) in str(caught.value)


def test_a_file_above_it_is_refused(directory: Path) -> None:
    directory.write_text("")
    with pytest.raises(DirectoryUnusable) as caught:
        data_directory.prepare(directory / "below", VARIABLE)
    assert_helps(caught.value, directory / "below")


def test_a_read_only_file_system_is_named(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory.mkdir(mode=0o755)

    def refuse(self: Path, _mode: int) -> None:
        raise OSError(30, "Read-only file system", str(self))

    monkeypatch.setattr(Path, "chmod", refuse)
    with pytest.raises(DirectoryUnusable) as caught:
        data_directory.prepare(directory, VARIABLE)
    assert_helps(caught.value, directory)
    assert "read-only file system" in str(caught.value)


def assert_helps(error: DirectoryUnusable, path: Path) -> None:
    """One line that names the path, the variable, the uid and the right."""
    line = str(error)
    assert "\n" not in line
    assert str(path) in line
    assert VARIABLE in line
    assert f"uid {os.geteuid()}" in line
    assert "right" in line


def test_the_database_and_its_log_become_private(directory: Path) -> None:
    directory.mkdir()
    files = [directory / name for name in ("remindi.db", "remindi.db-wal", "remindi.db-shm")]
    for file in files:
        file.write_bytes(b"")
        file.chmod(0o644)
    data_directory.secure_database(files[0])
    assert {mode(file) for file in files} == {0o600}


def test_a_database_that_is_a_directory_is_refused(directory: Path) -> None:
    (directory / "remindi.db").mkdir(parents=True)
    with pytest.raises(DirectoryUnusable, match="no regular file"):
        data_directory.secure_database(directory / "remindi.db")


def test_a_database_that_is_not_there_yet_is_fine(directory: Path) -> None:
    data_directory.secure_database(directory / "remindi.db")


def test_temporary_files_go_and_nothing_else(directory: Path, tmp_path: Path) -> None:
    directory.mkdir()
    outside = tmp_path / "outside"
    outside.write_text("kept")
    (directory / ".tmp-1").write_text("")
    (directory / ".tmp-link").symlink_to(outside)
    (directory / ".tmp-folder").mkdir()
    (directory / "remindi.db").write_text("")
    data_directory.remove_leftovers(directory)
    assert sorted(path.name for path in directory.iterdir()) == [".tmp-folder", "remindi.db"]
    assert outside.read_text() == "kept"


def test_the_lock_is_exclusive_and_says_who_has_it(directory: Path) -> None:
    directory.mkdir()
    held = data_directory.lock(directory)
    with pytest.raises(DirectoryInUse) as caught:
        data_directory.lock(directory)
    assert "another remindi process uses this directory" in str(caught.value).lower()
    assert str(directory) in str(caught.value)
    held.release()
    data_directory.lock(directory).release()
    assert mode(directory / data_directory.LOCK_NAME) == 0o600


def test_the_lock_is_the_same_by_another_name_of_the_directory(directory: Path, tmp_path: Path) -> None:
    directory.mkdir()
    (tmp_path / "alias").symlink_to(directory)
    held = data_directory.lock(directory)
    with pytest.raises(DirectoryInUse):
        data_directory.lock(tmp_path / "alias")
    held.release()


def _hold(directory: str, pipe: Connection) -> None:
    data_directory.lock(Path(directory))
    pipe.send("locked")
    pipe.recv()


def test_the_lock_dies_with_its_process_however_it_ends(directory: Path) -> None:
    directory.mkdir()
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_hold, args=(str(directory), theirs))
    process.start()
    assert ours.recv() == "locked"
    with pytest.raises(DirectoryInUse):
        data_directory.lock(directory)
    process.kill()
    process.join()
    data_directory.lock(directory).release()


def test_a_lock_that_is_a_link_is_not_followed(directory: Path, tmp_path: Path) -> None:
    directory.mkdir()
    (directory / data_directory.LOCK_NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DirectoryUnusable):
        data_directory.lock(directory)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(("content", "unclean"), [(None, False), (b"", False), (b"frames", True)])
def test_an_unclean_stop_is_told_by_the_log_it_left(
    directory: Path, content: bytes | None, unclean: bool
) -> None:
    directory.mkdir()
    if content is not None:
        (directory / "remindi.db-wal").write_bytes(content)
    assert data_directory.stopped_uncleanly(directory / "remindi.db") is unclean
