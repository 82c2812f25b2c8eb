"""The core against the model of the contract: whatever is done in whatever order, both say the same."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.fakes.core import Core, enable_adapter
from tests.model.machine import ADAPTER, CoreMachine

QUICK = settings(
    deadline=None,
    max_examples=80,
    stateful_step_count=40,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
DEEP = settings(QUICK, max_examples=200, stateful_step_count=60)


@pytest.fixture
def machine(tmp_path: Path) -> type[CoreMachine]:
    template_file = tmp_path / "template.db"
    core = Core(template_file)
    core.start()
    core.stop()
    enable_adapter(template_file, ADAPTER)

    class Machine(CoreMachine):
        template = template_file

    return Machine


def test_the_core_does_what_the_contract_says(machine: type[CoreMachine]) -> None:
    run_state_machine_as_test(machine, settings=QUICK)


@pytest.mark.slow
def test_the_core_does_what_the_contract_says_in_depth(machine: type[CoreMachine]) -> None:
    run_state_machine_as_test(machine, settings=DEEP)
