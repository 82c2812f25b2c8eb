"""Rows of the control tables as messages carry them: settings, workloads, the lease."""

from typing import NamedTuple

from remindi.adapters import AdapterRegistry
from remindi.settings import Settings


class SettingRow(NamedTuple):
    """A stored setting (contract 11.9)."""

    key: str
    value: int
    version: int
    updated_at: int
    updated_by: str


class WorkloadRow(NamedTuple):
    """What the database knows of a workload: only what is desired of it (contract 13.1)."""

    component: str
    desired: str
    version: int


class LeaseRow(NamedTuple):
    """The scheduler's lease (contract 8.3)."""

    holder: str
    acquired_at: int
    expires_at: int
    version: int


class Control(NamedTuple):
    """All control state at one moment: an immutable snapshot."""

    settings: Settings
    adapters: AdapterRegistry
    workloads: tuple[WorkloadRow, ...]
