"""Work beside an actor: a blocking ask in a thread of its own, whose outcome arrives as a notice.

For the workload controller, which must stay responsive during a transition. The thread owns nothing.
"""

import logging
import threading
from collections.abc import Callable

from actors.address import Address
from actors.messages import Notice

log = logging.getLogger("remindi.actors")


def beside(me: Address, name: str, work: Callable[[], Notice], failed: Callable[[Exception], Notice]) -> None:
    """Run ``work`` beside the actor at ``me`` and tell it the outcome.

    Args:
        me: where the outcome goes; also the first part of the thread's name, for the ask table.
        name: of the work, the second part.
        work: asks somebody and makes a notice of the answer.
        failed: makes a notice of what ``work`` raised.
    """

    def run() -> None:
        try:
            outcome = work()
        except Exception as error:
            log.warning("work beside an actor failed", exc_info=True, extra={"actor": me.name, "work": name})
            outcome = failed(error)
        me.notify(outcome)

    # A daemon: whoever is stuck in an ask must not keep the process alive.
    threading.Thread(target=run, name=f"{me.name}:{name}", daemon=True).start()
