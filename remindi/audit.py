"""Audit: the words of administration events (contract 13.2). No value, path, URL, alias or secret is one."""

from typing import Final

from remindi.adapters import ADAPTER_NAMES
from remindi.settings import BY_KEY

LOGIN_SUCCEEDED: Final = "login_succeeded"
LOGIN_FAILED: Final = "login_failed"
LOGOUT: Final = "logout"
RUNTIME_SETTING_UPDATED: Final = "runtime_setting_updated"
ADAPTER_CONFIG_UPDATED: Final = "adapter_config_updated"
WORKLOAD_STARTED: Final = "workload_started"
WORKLOAD_STOPPED: Final = "workload_stopped"
WORKLOAD_RESTARTED: Final = "workload_restarted"

SUCCEEDED: Final = "succeeded"
REJECTED: Final = "rejected"

UNKNOWN: Final = "unknown"
"""Stands for a name that nobody knows, so that no caller's text enters a row."""


def about_setting(key: str) -> dict[str, str]:
    """``details`` of what was asked of a setting."""
    return {"setting_key": key if key in BY_KEY else UNKNOWN}


def about_adapter(name: str) -> dict[str, str]:
    """``details`` of what was asked of an adapter."""
    return {"adapter_name": name if name in ADAPTER_NAMES else UNKNOWN}
