"""The access log: one line per request (contract 17.4), never the query, a header or a body."""

import logging
import time
from typing import Any, Final

log = logging.getLogger("remindi.http.access")

MAX_LOGGED_PATH: Final = 256


def log_request(
    request_id: str, method: str, path: str, status: int | None, started: float, told: dict[str, str]
) -> None:
    """Log a request that is answered.

    Args:
        request_id: of the exchange.
        method: of HTTP.
        path: as sent.
        status: null when the client left before there was an answer.
        started: on ``time.perf_counter``.
        told: what the line says besides.
    """
    if not log.isEnabledFor(logging.INFO):
        return
    about: dict[str, Any] = {
        "request_id": request_id,
        "method": method,
        "path": path[:MAX_LOGGED_PATH],
        "status": status,
        "duration_ms": round((time.perf_counter() - started) * 1_000, 3),
        **told,
    }
    # PERF: a record made here skips the walk up the stack that looks for the caller.
    log.handle(log.makeRecord(log.name, logging.INFO, "", 0, "request", (), None, extra=about))
