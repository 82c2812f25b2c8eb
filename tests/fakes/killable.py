"""The service with a trapdoor: on SIGUSR1 the actors named in a file die, as by a bug in their plumbing.

Run as `python killable.py FILE serve ...`. A name with `?` behind it dies without telling anybody; one with
`!` behind it does not die but hangs for ever.
"""

import signal
import sys
import threading
from pathlib import Path
from types import FrameType

from actors.actor import Actor
from actors.address import Envelope
from remindi.__main__ import main

living: dict[str, Actor] = {}
launch = Actor.launch


def remember(actor: Actor) -> None:
    """Start an actor and remember it by its name."""
    living[actor.name] = actor
    launch(actor)


def kill(_number: int, _frame: FrameType | None) -> None:
    """Kill who is named now."""
    for name in Path(sys.argv[1]).read_text().split():
        actor = living[name.rstrip("?!")]
        if name.endswith("!"):
            setattr(actor, "receive", lambda _envelope: threading.Event().wait())  # noqa: B010 - as below
            actor.actor_ref.tell(Envelope(None, None, None))
            continue
        if name.endswith("?"):
            actor._on_death = lambda _name: None
        actor.actor_ref.tell("no envelope")


if __name__ == "__main__":
    setattr(Actor, "launch", remember)  # noqa: B010 - a method is replaced
    signal.signal(signal.SIGUSR1, kill)
    sys.exit(main(sys.argv[2:]))
