"""The adapter pool: owns the adapter configuration and answers what conditions look like (contract 7.4).

No adapter can be enabled yet, so every answer is ``unknown``, with the reason. An adapter's probe is a
module beside this one; the pool will run them side by side and answer when they are done.
"""

import logging
from collections.abc import Callable
from typing import Final, assert_never

from actors.actor import Actor
from actors.messages.probes import AdaptersChanged, ProbeAnswer, RunProbes
from actors.messages.readers import ProbeTarget
from actors.messages.scheduler import SettingsChanged
from actors.system import Clock
from remindi.adapters import ADAPTER_VERSION, AdapterRegistry
from remindi.items import ConditionStatus
from remindi.settings import Settings

log = logging.getLogger("remindi.probes")

DISABLED: Final = "The adapter is disabled."
UNREGISTERED: Final = "The adapter is not registered."
NO_PROBE: Final = "This Remindi has no probe for the adapter."

Message = RunProbes | AdaptersChanged | SettingsChanged


class Pool(Actor):
    """Looks at conditions for the scheduler and for checks."""

    def __init__(
        self,
        name: str,
        on_death: Callable[[str], None],
        *,
        clock: Clock,
        registry: AdapterRegistry,
        settings: Settings,
    ) -> None:
        """Make the pool.

        Args:
            name: of its address.
            on_death: told the name when it ends unasked.
            clock: says when a condition was looked at.
            registry: the adapters as they are configured now.
            settings: as they are now; deadline and number of probes at a time.
        """
        super().__init__(name, on_death)
        self._clock = clock
        self._registry = registry
        self._settings = settings

    def handle(self, message: Message) -> tuple[ProbeAnswer, ...] | None:
        """Handle one message."""
        match message:
            case RunProbes(targets=targets):
                return tuple(self._look(target) for target in targets)
            case AdaptersChanged(registry=registry):
                self._registry = registry
            case SettingsChanged(settings=settings):
                self._settings = settings
            case _:
                assert_never(message)
        return None

    def _look(self, target: ProbeTarget) -> ProbeAnswer:
        adapter = self._registry.get(target.condition.adapter)
        if adapter is None:
            summary = UNREGISTERED
        elif not adapter.enabled:
            summary = DISABLED
        else:
            summary = NO_PROBE
        return ProbeAnswer(target, ConditionStatus.UNKNOWN, summary, self._clock.now(), ADAPTER_VERSION, 0)
