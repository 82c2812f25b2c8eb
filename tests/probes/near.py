"""Looks at conditions in a network namespace: each line on standard input is a look, each answer its outcome.

A look is ``{"by": "tcp" | "http", "at": [...], "resolve": [[addresses], ...], ...}``; ``resolve`` holds the
answers of the resolver, one after the other.
"""

import json
import sys
from collections.abc import Callable

from actors.probes.looking import Outcome
from tests.probes.looks import Changing, http, tcp

_LOOKS: dict[str, Callable[..., Outcome]] = {"tcp": tcp, "http": http}


def main() -> None:
    print(json.dumps("ready"), flush=True)  # noqa: T201 - the answer
    for line in sys.stdin:
        asked = json.loads(line)
        by = _LOOKS[asked.pop("by")]
        answers = asked.pop("resolve", None)
        outcome = by(*asked.pop("at"), resolve=answers and Changing(*answers), **asked)
        print(json.dumps([outcome.status, outcome.summary]), flush=True)  # noqa: T201 - the answer


if __name__ == "__main__":
    main()
