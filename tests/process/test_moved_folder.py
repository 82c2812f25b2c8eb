"""A folder made by `remindi init` that was moved: nothing starts on an empty database as if all were lost."""

import subprocess
import sys
from pathlib import Path

from tests.service import Service


def test_a_moved_folder_is_refused_with_both_places_named_and_no_database_is_made(tmp_path: Path) -> None:
    made = tmp_path / "made"
    subprocess.run([sys.executable, "-m", "remindi", "init", "--dir", made], check=True, capture_output=True)
    moved = tmp_path / "moved"
    first = Service(tmp_path / "first", arguments=("--env-file", str(made / "remindi.env")))
    for name in [name for name in first.env if name.startswith("REMINDI_")]:
        del first.env[name]
    first.start()
    assert first.stop() == 0
    made.rename(moved)
    second = Service(tmp_path / "second", arguments=("--env-file", str(moved / "remindi.env")))
    for name in [name for name in second.env if name.startswith("REMINDI_")]:
        del second.env[name]
    assert second.run_to_end() == 78
    assert "REMINDI_DB_PATH names a database that does not exist" in second.stderr()
    assert str(moved / "data" / "remindi.db") in second.stderr()
    assert not made.exists()


def test_a_start_without_an_env_file_says_how_to_make_one(tmp_path: Path) -> None:
    bare = Service(tmp_path / "bare", env={"REMINDI_MCP_TOKEN": None})
    assert bare.run_to_end() == 78
    assert "remindi init" in bare.stderr()


def test_faults_of_assets_are_told_together_with_all_others(tmp_path: Path) -> None:
    broken = {"REMINDI_MCP_TOKEN": None, "REMINDI_WEBUI_LOGO_FILE": str(tmp_path / "missing.png")}
    refused = Service(tmp_path / "refused", env=broken)
    assert refused.run_to_end() == 78
    assert "REMINDI_MCP_TOKEN" in refused.stderr()
    assert "REMINDI_WEBUI_LOGO_FILE" in refused.stderr()
