"""Adapters: the one way to a probe, in the order of contract 7.4, whatever the probe does."""

import logging
from typing import Final

from actors.probes import file_exists, http_health, observation_window_ended, tcp_reachable
from actors.probes.looking import Deadline, DeadlineReached, Outcome, Outside
from actors.probes.outcomes import Settled
from remindi.adapters import (
    Adapter,
    Configuration,
    FileExistsConfiguration,
    FileParameters,
    HttpHealthConfiguration,
    HttpParameters,
    ObservationWindowConfiguration,
    TcpParameters,
    TcpReachableConfiguration,
    WindowParameters,
    read_parameters,
)
from remindi.errors import Refusal
from remindi.items import ConditionStatus
from remindi.triggers import Condition

log = logging.getLogger("remindi.probes")

UNREGISTERED: Final = Outcome(ConditionStatus.UNKNOWN, "The adapter is not registered.")
DISABLED: Final = Outcome(ConditionStatus.UNKNOWN, "The adapter is disabled.")
WRONG_PARAMETERS: Final = Outcome(ConditionStatus.ERROR, "The parameters do not fit the adapter.")
TIME_IS_UP: Final = Outcome(ConditionStatus.UNKNOWN, "The probe was not over by its deadline.")
FAILED: Final = Outcome(ConditionStatus.ERROR, "The probe failed.")


def look(adapter: Adapter | None, condition: Condition, outside: Outside, deadline: Deadline) -> Outcome:
    """Look at a condition; blocks until there is an outcome, and never raises.

    Args:
        adapter: the one that the condition names, as it is configured now; None when there is none.
        condition: its parameters are read anew, since they may be older than the rules.
        outside: what the probe may use of the world.
        deadline: of all of it. What waits for the system's resolver or for a file system does not heed it.
    """
    if adapter is None:
        return UNREGISTERED
    if not adapter.enabled:
        return DISABLED
    try:
        return _probe(adapter, condition, outside, deadline)
    except Settled as settled:
        return settled.outcome
    except DeadlineReached:
        return TIME_IS_UP
    except Exception as error:
        # APPSEC: the text of an exception may quote the target (contract 17.4).
        log.error(
            "a probe failed unexpectedly", extra={"adapter": adapter.name, "error": type(error).__name__}
        )
        return FAILED


def check_configuration(configuration: Configuration) -> Refusal | None:
    """Ask the machine what the domain cannot know of a configuration (contract 7.3).

    Returns:
        VALIDATION_ERROR with pointers under ``/configuration``, or None: it may be saved.
    """
    if isinstance(configuration, FileExistsConfiguration):
        return file_exists.check(configuration)
    return None


def _probe(adapter: Adapter, condition: Condition, outside: Outside, deadline: Deadline) -> Outcome:
    parameters = read_parameters(adapter.name, condition.parameters_json)
    match parameters, adapter.configuration:
        case WindowParameters(), ObservationWindowConfiguration() as configuration:
            return observation_window_ended.probe(parameters, configuration, outside, deadline)
        case HttpParameters(), HttpHealthConfiguration() as configuration:
            return http_health.probe(parameters, configuration, outside, deadline)
        case TcpParameters(), TcpReachableConfiguration() as configuration:
            return tcp_reachable.probe(parameters, configuration, outside, deadline)
        case FileParameters(), FileExistsConfiguration() as configuration:
            return file_exists.probe(parameters, configuration, outside, deadline)
        case _:
            return WRONG_PARAMETERS
