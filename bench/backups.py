"""Backups of a large database, beside writers, and the maintenance of its restore by phases."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from actors.store.copying import copy_database
from bench import load
from bench.api import SignedIn
from remindi.instants import parse_instant
from tests.service import Service

MEGABYTES: Final = 1_000
ROUNDS: Final = 3
ADDS: Final = 4_000
_PIECE: Final = 1_048_576
Row = tuple[str, str, str]


def backups(service: Service, adds: Callable[[int], load.Rate]) -> Iterator[Row]:
    """Measure one service whose database is large already; ``adds`` sends so many over 8 connections."""
    service.stop()
    size = service.database.stat().st_size
    plain = min(_copied(service.database, service.root / "plain") for _ in range(ROUNDS))
    quiet = min(_backed_up(service.database, service.root / "copy") for _ in range(ROUNDS))
    service.start()
    what = f"{size / 1e9:.1f} GB"
    yield f"plain copy of {what}, with fsync", "", _rate(size, plain)
    yield (
        f"copy of {what} for a backup, nobody writing",
        ">= 60 % of a plain copy",
        f"{_rate(size, quiet)} = {100 * plain / quiet:.0f} %",
    )
    alone = min((adds(ADDS) for _ in range(ROUNDS)), key=lambda rate: rate.p95)
    busy, took = min((_beside(service, adds) for _ in range(ROUNDS)), key=lambda pair: pair[1])
    yield (
        f"copy of {what} for a backup, 8 writers",
        ">= 60 % of a plain copy",
        f"{_rate(size, took)} = {100 * plain / took:.0f} %",
    )
    yield (
        "durable `remindi_add` of these 8 writers",
        "p95 <= 3 x without",
        f"p95 {busy.p95:.1f} ms = {busy.p95 / alone.p95:.1f} x {alone.p95:.1f} ms; p99 {busy.p99:.1f} ms",
    )
    admin = SignedIn(service)
    began = time.perf_counter()
    record = admin.change("/backups")
    yield f"`POST /backups` of {what}: copied, verified, hashed", "", f"{time.perf_counter() - began:.1f} s"
    admin.change(f"/backups/{record['id']}/restore", {"confirmation": "RESTORE REMINDI"})
    yield from _restored(admin.data("/restores/latest")["restore"], what, quiet)


def _restored(state: dict[str, Any], what: str, copy: float) -> Iterator[Row]:
    """How long the database was closed, and for what."""
    at = {phase["phase"]: parse_instant(phase["at"]) / 1_000 for phase in state["phases"]}
    closed = at["workloads_restarted"] - at["workloads_quiesced"]
    steps = ("workloads_quiesced", "pre_restore_backup_verified", "live_replaced", "replacement_verified")
    parts = ", ".join(f"{at[later] - at[earlier]:.1f} s to {later}" for earlier, later in pairwise(steps))
    yield (
        f"restore of {what}: how long the database is closed",
        f"<= {copy:.1f} s (its copy) + 2 s",
        f"{closed:.1f} s ({parts})",
    )


def _beside(service: Service, adds: Callable[[int], load.Rate]) -> tuple[load.Rate, float]:
    """Copy while writers write for at least as long."""
    took: list[float] = []
    copying = threading.Thread(
        target=lambda: took.append(_backed_up(service.database, service.root / "copy"))
    )
    copying.start()
    rate = adds(ADDS)
    copying.join()
    return rate, took[0]


def _backed_up(database: Path, destination: Path) -> float:
    destination.unlink(missing_ok=True)
    began = time.perf_counter()
    copy_database(database, destination)
    return time.perf_counter() - began


def _copied(source: Path, destination: Path) -> float:
    destination.unlink(missing_ok=True)
    began = time.perf_counter()
    with source.open("rb") as read, destination.open("wb") as write:
        while piece := read.read(_PIECE):
            write.write(piece)
        write.flush()
        os.fsync(write.fileno())
    return time.perf_counter() - began


def _rate(size: int, seconds: float) -> str:
    return f"{size / 1e6 / seconds:,.0f} MB/s"
