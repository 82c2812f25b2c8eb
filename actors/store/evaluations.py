"""Evaluations: what checks, scheduler passes and probes make of items, inside the writer's transaction."""

import logging
from typing import Final

import apsw

from actors.messages.writer import ProbeResult, RipeBatch, RipePosition
from actors.store import checks, items, ripe
from actors.store.mutations import Moment
from actors.store.names import Names
from actors.store.tally import Tally
from actors.system import Identifiers
from remindi import lifecycle
from remindi.answers import CheckPage
from remindi.events import LifecycleEvent
from remindi.instants import MS_PER_SECOND
from remindi.items import Item, State
from remindi.requests import CheckQuery
from remindi.settings import ADAPTER_TIMEOUT_SECONDS
from remindi.triggers import TriggerType

log = logging.getLogger("remindi.store")

PROBES_AWAITED: Final = 2
"""For so many deadlines of a probe a manual check waits for what the probe says (contract 4.2)."""

_FAULTS_OF_AN_ITEM: Final = (ValueError, TypeError, LookupError, AssertionError, apsw.ConstraintError)
"""What one row can be wrong with; it is passed over, and the others go on."""


class Evaluations:
    """Evaluation on one write connection. What it changed since the last commit is kept for the log."""

    def __init__(
        self,
        connection: apsw.Connection,
        owner: int,
        names: Names,
        identifiers: Identifiers,
        tally: Tally,
    ) -> None:
        """Work on the items of ``owner``."""
        self._connection = connection
        self._owner = owner
        self._names = names
        self._identifiers = identifiers
        self._tally = tally

    def page(self, moment: Moment, query: CheckQuery, as_of: int) -> tuple[CheckPage, list[lifecycle.Change]]:
        """One page of a check, every change on it written (contract 5.1)."""
        found = checks.find_page(
            self._connection, self._owner, query, as_of, self._names, newest=moment.change - 1
        )
        changes = []
        settled = []
        for row in found.ready:
            change = self._page_change(moment, row, query, as_of)
            if change is None:
                settled.append(row)
            else:
                changes.append(change)
                settled.append(_row_after(row, change.item))
        self._append(moment, changes)
        page = checks.shown_page(self._connection, found._replace(ready=tuple(settled)), as_of, self._names)
        return page, changes

    def _page_change(
        self, moment: Moment, row: checks.PageRow, query: CheckQuery, as_of: int
    ) -> lifecycle.Change | None:
        if not row.ripe:
            return None
        item = items.item_by_key(self._connection, row.key)
        return self._evaluate(moment, item, as_of, query.context.lifecycle_event, context_fires=True)

    def ripe(
        self, moment: Moment, as_of: int, after: RipePosition | None, limit: int
    ) -> tuple[RipeBatch, list[lifecycle.Change]]:
        """One batch of a scheduler pass (contract 8.1). An item that fails is passed over, and logged."""
        seconds = moment.control.settings[ADAPTER_TIMEOUT_SECONDS]
        patience_ms = PROBES_AWAITED * seconds * MS_PER_SECOND
        found = ripe.ripe_items(self._connection, self._owner, as_of, after, limit, patience_ms)
        changes = []
        passed_over = 0
        for item, _ in found:
            try:
                change = self._evaluate(moment, item, as_of, LifecycleEvent.CHECKPOINT)
                if change is not None:
                    changes.append(change)
            except _FAULTS_OF_AN_ITEM:
                log.exception("an item could not be evaluated", extra={"item_key": item.key})
                passed_over += 1
        self._append(moment, changes)
        last = found[-1] if len(found) == limit else None
        position = None if last is None else RipePosition(wake=last[1], key=last[0].key)
        return RipeBatch(evaluated=len(changes), passed_over=passed_over, next=position), changes

    def probes(
        self, moment: Moment, results: tuple[ProbeResult, ...], as_of: int, lifecycle_event: LifecycleEvent
    ) -> list[lifecycle.Change]:
        """Apply probe results to the items that still stand as they were probed (contract 8.1)."""
        changes = []
        for result in results:
            item = items.item_by_key(self._connection, result.key)
            probed = item.state == State.SCHEDULED and item.trigger_type == TriggerType.CONDITION
            if item.version != result.version or not probed:
                continue
            try:
                change = self._evaluate(moment, item, as_of, lifecycle_event, probe=result.probe)
                if change is not None:
                    changes.append(change)
            except _FAULTS_OF_AN_ITEM:
                log.exception("a probe's result could not be applied", extra={"item_key": result.key})
        self._append(moment, changes)
        return changes

    def _evaluate(
        self,
        moment: Moment,
        item: Item,
        as_of: int,
        lifecycle_event: LifecycleEvent,
        *,
        context_fires: bool = False,
        probe: lifecycle.Probe | None = None,
    ) -> lifecycle.Change | None:
        """Evaluate one item and store what it becomes; its events follow with those of the others."""
        change = lifecycle.evaluate(
            item,
            as_of=as_of,
            now=moment.now,
            lifecycle_event=lifecycle_event,
            context_fires=context_fires,
            probe=probe,
        )
        if change is not None:
            items.rewrite_evaluated(self._connection, change.item, moment.change)
            self._tally.changed(item, change.item, moment.now)
        return change

    def _append(self, moment: Moment, changes: list[lifecycle.Change]) -> None:
        items.append_events(
            self._connection,
            changes,
            caller=moment.caller,
            now=moment.now,
            names=self._names,
            identifiers=self._identifiers,
        )


def _row_after(row: checks.PageRow, item: Item) -> checks.PageRow:
    return row._replace(
        ripe=0,
        state=item.state,
        version=item.version,
        due_since=item.due_since,
        next_fire_at=item.next_fire_at,
        last_condition_status=item.last_condition_status,
    )
