"""The end of time: a series that would leave the year 9999 has no further occurrence (contract 2.4, 6)."""

from tests.fakes.script import Script


def test_a_series_ends_with_the_last_year(script: Script) -> None:
    name = script.add()
    script.page()
    refused = script.core.tool(
        "remindi_update",
        {
            "remindi_id": name,
            "expected_version": 2,
            "reason": "r",
            "trigger": {"type": "interval", "first_at": "9999-12-31T23:59:59Z", "every_seconds": 60},
            "recurrence": {"every_seconds": 60},
            "occurrence_disposition": "acknowledged",
            "idempotency_key": script.key(),
        },
    )
    assert refused["error"]["code"] == "INVALID_STATE"
    assert script.item(name)["version"] == 2
