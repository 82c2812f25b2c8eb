"""Conditions on the real process: from an alias to a due item, and what is told of a target: nothing."""

import json
import re
import socket
from pathlib import Path

import pytest

from tests.conftest import MakeService
from tests.probes.peers import answering, ok, peer
from tests.process.acts import completion
from tests.process.probing import adapters, check, condition, configure, tune
from tests.service import Json, Service, eventually

README = Path(__file__).parents[2] / "README.md"
WORDS = ("secret-host", "secret-path", "secret-body", "secret-root", "192.168.77.5")
"""Of targets, as they are configured below; nobody but the administrator may read them."""


@pytest.fixture
def spool(tmp_path: Path, service: Service) -> Path:
    """A folder that ``file_exists`` may look into, with the alias ``marker``."""
    folder = tmp_path / "spool"
    folder.mkdir()
    configure(service, "file_exists", roots=[str(folder)], aliases={"marker": str(folder / "done")})
    return folder


def added(service: Service, arguments: Json) -> str:
    """Add an item and return its id."""
    envelope = service.call("remindi_add", arguments)
    assert envelope["ok"], envelope
    remindi_id: str = envelope["data"]["remindi"]["id"]
    return remindi_id


def listed(service: Service, remindi_id: str) -> Json:
    """One item as a list shows it."""
    (item,) = service.call("remindi_list", {"remindi_id": remindi_id})["data"]["items"]
    assert isinstance(item, dict)
    return item


def test_a_marker_file_makes_an_item_due_and_its_completion_still_demands_evidence(
    service: Service, spool: Path
) -> None:
    (spool / "done").touch()
    remindi_id = added(service, condition("file_exists", {"path_alias": "marker"}))
    (item,) = service.call("remindi_check", check())["data"]["items"]
    assert (item["remindi_id"], item["readiness"], item["state"]) == (remindi_id, "due", "due")
    shown = listed(service, remindi_id)
    assert (shown["last_condition_status"], shown["next_evaluation_at"]) == ("satisfied", None)
    assert item["due_since"] == shown["due_since"] is not None
    events = service.call("remindi_history", {"remindi_id": remindi_id})["data"]["events"]
    assert [event["event_type"] for event in events] == ["created", "condition_evaluated", "became_due"]
    assert [event["new_version"] for event in events] == [1, 2, 2]
    assert events[1]["details"]["condition"] == "satisfied"

    bare = completion(remindi_id, item["version"])
    del bare["evidence"]["reference_uri"]
    refused = service.call("remindi_complete", bare)["error"]
    assert refused["details"]["errors"] == [{"field": "/evidence", "reason": "needs_reference"}]
    assert service.call("remindi_complete", completion(remindi_id, item["version"]))["ok"] is True


def test_the_example_of_the_readme_goes_as_it_says(service: Service, tmp_path: Path) -> None:
    """Its own words, with a folder of the test in place of the one that it names."""
    blocks = re.findall(r"```json\n(.*?)```", README.read_text(), re.DOTALL)
    (configuration,) = (block for block in blocks if '"type": "file_exists"' in block)
    (adding,) = (block for block in blocks if '"adapter": "file_exists"' in block)
    (shown,) = (block for block in blocks if '"next_fire_at": null' in block)
    folder = tmp_path / "reports"
    (folder / "nightly").mkdir(parents=True)
    given = json.loads(configuration.replace("/srv/reports", str(folder)))
    assert adapters(service, "set", "file_exists", "--file", "-", given=given).returncode == 0
    (folder / "nightly" / "done").touch()
    remindi_id = added(service, json.loads(adding))
    (item,) = service.call("remindi_check", {"project_id": "shop", "lifecycle_event": "task_start"})["data"][
        "items"
    ]
    example = json.loads(shown)
    assert item.keys() == example.keys()
    told = {"remindi_id", "due_since", "version"}
    assert {key: item[key] for key in item if key not in told} == {
        key: example[key] for key in example if key not in told
    }
    assert item["remindi_id"] == remindi_id


def test_the_scheduler_looks_when_nobody_checks(make_service: MakeService, tmp_path: Path) -> None:
    service = make_service()
    service.start()
    configure(service, "file_exists", roots=[str(tmp_path)], aliases={"marker": str(tmp_path / "done")})
    service.stop()
    tune(service, scheduler__poll_interval_seconds=1, scheduler__lease_seconds=10)
    service.start()
    remindi_id = added(service, condition("file_exists", {"path_alias": "marker"}))
    seen = eventually(lambda: _probed(service, remindi_id))
    assert (seen["state"], seen["last_condition_status"], seen["version"]) == ("scheduled", "unsatisfied", 2)
    assert seen["next_evaluation_at"] > seen["last_checked_at"]
    events = service.call("remindi_history", {"remindi_id": remindi_id})["data"]["events"]
    assert [(event["event_type"], event["actor_type"]) for event in events] == [
        ("created", "agent"),
        ("condition_evaluated", "scheduler"),
    ]
    # Not before its next evaluation is it looked at again, whoever asks.
    (tmp_path / "done").touch()
    assert service.call("remindi_check", check())["data"]["items"] == []
    assert listed(service, remindi_id)["version"] == 2


def _probed(service: Service, remindi_id: str) -> Json:
    item = listed(service, remindi_id)
    return {} if item["last_condition_status"] is None else item


@pytest.mark.slow
def test_a_marker_that_appears_later_is_noticed_at_the_next_poll(
    make_service: MakeService, tmp_path: Path
) -> None:
    service = make_service()
    service.start()
    configure(service, "file_exists", roots=[str(tmp_path)], aliases={"marker": str(tmp_path / "done")})
    service.stop()
    tune(service, scheduler__poll_interval_seconds=1, scheduler__lease_seconds=10)
    service.start()
    remindi_id = added(service, condition("file_exists", {"path_alias": "marker"}, poll_interval_seconds=30))
    eventually(lambda: _probed(service, remindi_id))
    (tmp_path / "done").touch()
    due = eventually(lambda: _due(service, remindi_id), within=60.0)
    assert (due["version"], due["last_condition_status"]) == (3, "satisfied")


def _due(service: Service, remindi_id: str) -> Json:
    item = listed(service, remindi_id)
    return item if item["state"] == "due" else {}


def test_an_unchanged_poll_is_no_event_and_no_version_also_across_a_restart(
    service: Service, spool: Path
) -> None:
    remindi_id = added(service, condition("file_exists", {"path_alias": "marker"}))
    assert service.call("remindi_check", check())["data"]["items"] == []
    first = listed(service, remindi_id)
    service.restart()
    assert spool.is_dir()
    assert listed(service, remindi_id) == first


def test_a_vanished_root_stops_neither_the_start_nor_the_others(service: Service, spool: Path) -> None:
    configure(service, "observation_window_ended")
    marked = added(service, condition("file_exists", {"path_alias": "marker"}))
    spool.rmdir()
    service.restart()
    ended = added(service, condition("observation_window_ended", {"window_end": "2020-01-01T00:00:00Z"}))
    (item,) = service.call("remindi_check", check())["data"]["items"]
    assert item["remindi_id"] == ended
    assert listed(service, marked)["last_condition_status"] == "unknown"
    assert adapters(service, "test", "file_exists", "marker").returncode == 1


def test_nothing_of_a_target_is_told_by_answers_events_or_the_log(
    make_service: MakeService, tmp_path: Path
) -> None:
    service = make_service(env={"REMINDI_LOG_LEVEL": "trace"})
    service.start()
    root = tmp_path / "secret-root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path)
    with peer(lambda it: it.keep()) as mute, peer(answering(ok(b"secret-body"))) as plain:
        closed = _closed_port()
        configure(
            service,
            "http_health",
            aliases={
                "plain": _https(f"127.0.0.1:{plain.port}"),
                "closed": _https(f"127.0.0.1:{closed}"),
                "denied": _https(f"127.0.0.1:{mute.port}", allow_private=False),
                "nameless": _https("secret-host.invalid"),
                "private": _https("192.168.77.5", allow_private=False),
            },
        )
        configure(
            service,
            "tcp_reachable",
            aliases={
                "open": {"host": "127.0.0.1", "port": mute.port, "allow_private": True},
                "closed": {"host": "127.0.0.1", "port": closed, "allow_private": True},
                "denied": {"host": "127.0.0.1", "port": mute.port, "allow_private": False},
                "nameless": {"host": "secret-host.invalid", "port": 1, "allow_private": True},
            },
        )
        configure(
            service,
            "file_exists",
            roots=[str(root)],
            aliases={"there": str(root), "missing": str(root / "secret-path")},
        )
        ids = [
            added(service, condition(adapter, {word: alias}))
            for adapter, word, aliases in (
                ("http_health", "target", ("plain", "closed", "denied", "nameless", "private")),
                ("tcp_reachable", "target", ("open", "closed", "denied", "nameless")),
                ("file_exists", "path_alias", ("there", "missing")),
            )
            for alias in aliases
        ]
        checked = service.call("remindi_check", check())
        assert len(checked["data"]["items"]) == 2
        assert mute.seen()[0] == 1, "only the alias that may connect did"
        # A resolver may be slower than a check: what it says is stored when it is there.
        items = eventually(lambda: _all_probed(service))
        told = [checked, items, *(service.call("remindi_history", {"remindi_id": one}) for one in ids)]
    assert {"satisfied", "unsatisfied", "error"} <= {item["last_condition_status"] for item in items}
    service.stop()
    everything = f"{told}\n{service.log_lines()}\n{service.stderr()}"
    assert [word for word in WORDS if word in everything] == []
    details = [item["last_condition_detail"] for item in items]
    assert len(details) == len(ids)
    assert not any(character.isdigit() for detail in details for character in detail)


def _all_probed(service: Service) -> list[Json]:
    items: list[Json] = service.call("remindi_list", {"project_id": "conditions"})["data"]["items"]
    return [] if any(item["last_condition_status"] is None for item in items) else items


def _https(authority: str, *, allow_private: bool = True) -> Json:
    return {
        "url": f"https://{authority}/secret-path",
        "expected_statuses": [200],
        "max_response_bytes": 1_000,
        "allow_redirects": False,
        "allow_private": allow_private,
    }


def _closed_port() -> int:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        port: int = holder.getsockname()[1]
        return port
