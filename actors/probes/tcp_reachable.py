"""``tcp_reachable``: a port accepts a connection (contract 7.4). Not one byte is sent on it."""

from typing import Final

from actors.probes.connecting import Unreachable, checked_addresses, connect
from actors.probes.looking import Deadline, Outcome, Outside
from actors.probes.outcomes import UNKNOWN_ALIAS
from remindi.adapters import TcpParameters, TcpReachableConfiguration
from remindi.items import ConditionStatus

ACCEPTED: Final = Outcome(ConditionStatus.SATISFIED, "An address accepts connections.")
NOT_ACCEPTED: Final = Outcome(ConditionStatus.UNSATISFIED, "No address accepts a connection.")


def probe(
    parameters: TcpParameters, configuration: TcpReachableConfiguration, outside: Outside, deadline: Deadline
) -> Outcome:
    """Connect to one address of the alias and close at once.

    Raises:
        Settled: the name does not resolve, or an address is denied.
        DeadlineReached: nobody had answered by then.
        OSError: the machine has no socket left.
    """
    alias = configuration.aliases.get(parameters.target)
    if alias is None:
        return UNKNOWN_ALIAS
    addresses = checked_addresses(
        alias.host, allow_private=alias.allow_private, outside=outside, deadline=deadline
    )
    try:
        connect(addresses, alias.port, deadline).close()
    except Unreachable:
        return NOT_ACCEPTED
    return ACCEPTED
