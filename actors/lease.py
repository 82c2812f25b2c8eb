"""The lease keeper: acquires, renews and frees the scheduler's lease on its own ticks (contract 8.3).

Apart from the scheduler, so that a long pass or probe never lets the lease run out.
"""

import logging
from collections.abc import Callable
from typing import Final, assert_never

from actors.actor import Actor
from actors.address import Address, OutcomeUnknown
from actors.failures import in_words, unrefused
from actors.messages.control import LeaseRow
from actors.messages.lease import FreeLease, LeaseWanted, RenewalDue
from actors.messages.probes import AdaptersChanged
from actors.messages.scheduler import LeaseGained, LeaseMissed, SettingsChanged
from actors.messages.writer import AcquireLease, GetLease, ReleaseLease, RenewLease
from actors.timer import Alarm, Timer
from remindi.events import Caller
from remindi.settings import LEASE_SECONDS, Settings

log = logging.getLogger("remindi.scheduler")

ASK_SECONDS: Final = 10.0
FREE_SECONDS: Final = 2.0
"""For a release: at a stop the lease runs out by itself, waiting longer gains nothing."""
FIRST_RETRY_SECONDS: Final = 1.0
LONGEST_RETRY_SECONDS: Final = 60.0
RENEWALS_PER_LEASE: Final = 4
"""One more than the contract's third, so that a slow disk does not break the promise."""

Message = LeaseWanted | RenewalDue | SettingsChanged | AdaptersChanged | FreeLease


class LeaseKeeper(Actor):
    """Holds the lease for as long as the scheduler wants it."""

    def __init__(
        self,
        name: str,
        on_death: Callable[[str], None],
        *,
        me: Address,
        writer: Address,
        scheduler: Address,
        timer: Timer,
        caller: Caller,
        settings: Settings,
        held: LeaseRow | None = None,
    ) -> None:
        """Make the keeper.

        Args:
            name: of its address.
            on_death: told the name when it ends unasked.
            me: its own address, for the timer.
            writer: owns the lease row.
            scheduler: told whether the lease is held.
            timer: brings its ticks.
            caller: in whose name it acts; the actor id is the holder of the lease.
            settings: as they are now.
            held: what a dead predecessor of this process held; refused to everybody else until it expires.
        """
        super().__init__(name, on_death)
        self._me = me
        self._writer = writer
        self._scheduler = scheduler
        self._timer = timer
        self._caller = caller
        self._lease_seconds = settings[LEASE_SECONDS]
        self._wanted = False
        self._generation = 0
        self._alarm: Alarm | None = None
        self._told_held = False
        self._unanswered = 0
        self._acquire_unanswered = False
        self._failures = 0
        self.held: LeaseRow | None = held
        """The row as last seen; a successor reads it when this actor is dead."""

    def handle(self, message: Message) -> None:
        """Handle one message."""
        match message:
            case LeaseWanted():
                self._wanted = True
                self._secure(tell=True)
            case RenewalDue(generation=generation):
                if self._wanted and generation == self._generation:
                    self._secure(tell=False)
            case SettingsChanged(settings=settings):
                self._follow(settings[LEASE_SECONDS])
            case FreeLease():
                self._free()
            case AdaptersChanged():
                pass  # The writer tells every change of control rows to all who follow any.
            case _:
                assert_never(message)

    def on_stop(self) -> None:
        """Free the lease: the next process takes it at once either way, but leaves no doubt."""
        self._free()

    def _follow(self, lease_seconds: int) -> None:
        changed, self._lease_seconds = lease_seconds != self._lease_seconds, lease_seconds
        if changed and self._wanted:
            # The row in the database still has the former length, which may be the shorter one.
            self._secure(tell=False)

    def _secure(self, *, tell: bool) -> None:
        """Renew the lease or acquire it; tell the scheduler when that is news, or when it asked."""
        try:
            if self.held is not None:
                self.held = self._renewed(self.held)
                if self.held is None:
                    log.warning("the lease was lost")
                    self._missed("The lease was lost.")
            if self.held is None:
                self.held = self._acquired()
        except Exception as error:
            log.warning("the lease could not be secured", exc_info=True)
            self._try_again_later(in_words(error))
            return
        if self.held is None:
            self._try_again_later("Another holder has the lease.")
            return
        self._failures = 0
        self._again_in(self._lease_seconds / RENEWALS_PER_LEASE)
        if tell or not self._told_held:
            self._told_held = self._scheduler.notify(LeaseGained())

    def _acquired(self) -> LeaseRow | None:
        """Acquire the lease, or take what an acquire without an answer has left in our name."""
        try:
            row = self._ask(AcquireLease(caller=self._caller, holder=self._caller.actor_id))
        except OutcomeUnknown:
            self._acquire_unanswered = True
            raise
        if row is None and self._acquire_unanswered:
            row = self._ask(GetLease(caller=self._caller))
            if row is not None and row.holder != self._caller.actor_id:
                row = None
        if row is not None:
            self._acquire_unanswered = False
        return row

    def _renewed(self, held: LeaseRow) -> LeaseRow | None:
        """Renew under the version held, or under one that a renewal without an answer may have left."""
        for missed in range(self._unanswered + 1):
            try:
                row = self._ask(
                    RenewLease(caller=self._caller, held=held._replace(version=held.version + missed))
                )
            except OutcomeUnknown:
                self._unanswered += 1
                raise
            if row is not None:
                self._unanswered = 0
                return row
        self._unanswered = 0
        return None

    def _ask(self, message: AcquireLease | GetLease | RenewLease) -> LeaseRow | None:
        return unrefused(self._writer.call(message, timeout=ASK_SECONDS))

    def _try_again_later(self, reason: str) -> None:
        longest = min(LONGEST_RETRY_SECONDS, self._lease_seconds / RENEWALS_PER_LEASE)
        self._again_in(min(longest, FIRST_RETRY_SECONDS * 2**self._failures))
        self._failures = min(self._failures + 1, 10)
        self._missed(reason)

    def _missed(self, reason: str) -> None:
        self._told_held = False
        self._scheduler.notify(LeaseMissed(reason=reason))

    def _free(self) -> None:
        self._wanted = False
        self._told_held = False
        self._generation += 1
        if self._alarm is not None:
            self._alarm.cancel()
        if self.held is None:
            return
        try:
            release = ReleaseLease(caller=self._caller, held=self.held)
            unrefused(self._writer.call(release, timeout=FREE_SECONDS))
        except Exception:
            # Kept as held: should the scheduler start again, it is renewed rather than refused.
            log.warning("the lease was not freed; it expires by itself", exc_info=True)
            return
        self.held = None

    def _again_in(self, seconds: float) -> None:
        self._generation += 1
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self._timer.after(seconds, self._me, RenewalDue(generation=self._generation))
