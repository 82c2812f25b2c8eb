"""The lock files fit the project, and the check that says so can also say no."""

from packaging.version import Version

from tests.packaging.conftest import ROOT
from tools.lockcheck import faults, locked, unfit
from tools.nodelock import without_hosts

PIN = "pykka==4.5.0 ; python_version >= '3.11' \\\n    --hash=sha256:00\n    # via remindi\n"


def test_the_committed_locks_have_no_fault() -> None:
    assert list(faults(ROOT)) == []


def test_a_pin_is_read_with_its_version_and_its_hash() -> None:
    assert list(locked(PIN)) == [("pykka", Version("4.5.0"), True)]


def test_a_pin_without_a_hash_is_seen() -> None:
    assert list(locked("Pykka==4.5.0\n")) == [("pykka", Version("4.5.0"), False)]


def test_a_missing_and_an_unfit_dependency_are_named() -> None:
    pins = {"pykka": {Version("4.5.0")}}
    assert list(unfit(["pykka==4.5.*"], pins)) == []
    assert list(unfit(["pykka>=5"], pins)) == ["pykka>=5 is locked as 4.5.0"]
    assert list(unfit(["falcon"], pins)) == ["falcon is not locked"]


def test_a_node_lock_keeps_its_hashes_and_loses_its_hosts() -> None:
    entry = {"version": "1.0.0", "resolved": "https://example.invalid/a.tgz", "integrity": "sha512-00"}
    lock = {"lockfileVersion": 3, "packages": {"node_modules/a": entry}}
    kept = {"version": "1.0.0", "integrity": "sha512-00"}
    assert without_hosts(lock) == {"lockfileVersion": 3, "packages": {"node_modules/a": kept}}
