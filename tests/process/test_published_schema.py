"""The published schema held against the real process by schemathesis: what is taken, refused and answered."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.process.acts import LONG_AGO, completion, fresh, new_item
from tests.process.rest import Browser
from tests.service import Json, Service

CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
SCHEMA = Path(__file__).parents[2] / "schema" / "openapi.json"
BOUND = 280.0


def examine(service: Service, variables: dict[str, str], *options: str) -> None:
    """Run schemathesis on the service; what it finds fails the test."""
    origin = f"http://127.0.0.1:{service.port}"
    line = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIGURATION), "run", str(SCHEMA)]
    done = subprocess.run(
        [*line, "--url", f"{origin}/api/v1", "--no-color", *options],
        env={"PATH": os.defpath, "HOME": str(service.root), "REMINDI_ORIGIN": origin, **variables},
        cwd=service.root,
        check=False,
        capture_output=True,
        text=True,
        timeout=BOUND,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No issues found" in done.stdout


def items(browser: Browser) -> dict[str, str]:
    """One item of each kind that answers differ by."""

    def add(**fields: object) -> Json:
        item: Json = browser.data("POST", "/remindi", new_item("published", **fields))["remindi"]
        return item

    add(trigger={"type": "at_time", "at": LONG_AGO}, overdue_after_seconds=31_536_000)
    check = {"project_id": "published", "lifecycle_event": "checkpoint"}
    (due,) = browser.data("POST", "/remindi/check", check)["items"]
    ended = add()
    path, body = f"/remindi/{ended['id']}/complete", completion(ended["id"], ended["version"])
    del body["remindi_id"]
    browser.data("POST", path, body)
    return {
        "REMINDI_ITEM_SCHEDULED": add(links=[{"type": "goal", "value": fresh("goal")}])["id"],
        "REMINDI_ITEM_DUE": due["remindi_id"],
        "REMINDI_ITEM_COMPLETED": ended["id"],
    }


@pytest.mark.slow
@pytest.mark.parametrize("signed_in", [True, False], ids=["signed in", "not signed in"])
def test_the_service_does_what_its_published_schema_says(service: Service, signed_in: bool) -> None:
    with Browser(service) as browser:
        browser.sign_in()
        variables = items(browser)
        if signed_in:
            # A sign-out would end what is to be looked at.
            variables |= {"REMINDI_SESSION": browser.cookie, "REMINDI_CSRF": browser.csrf}
            examine(service, variables, "--exclude-path", "/auth/logout")
        else:
            variables |= {"REMINDI_SESSION": "nobody", "REMINDI_CSRF": "nothing"}
            examine(service, variables)
        assert browser.request("GET", "/overview").status == 200
    assert not [line for line in service.log_lines() if line["level"] == "error"]
