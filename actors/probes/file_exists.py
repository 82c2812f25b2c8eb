"""``file_exists``: a path is there, under one of the roots (contract 7.3, 7.4). Only metadata is read."""

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Final

from actors.probes.looking import Deadline, Outcome, Outside
from actors.probes.outcomes import UNKNOWN_ALIAS
from remindi.adapters import FileExistsConfiguration, FileParameters
from remindi.errors import Reason, Refusal, invalid
from remindi.items import ConditionStatus

THERE: Final = Outcome(ConditionStatus.SATISFIED, "The path exists.")
NOT_THERE: Final = Outcome(ConditionStatus.UNSATISFIED, "The path does not exist.")
ROOT_MISSING: Final = Outcome(ConditionStatus.UNKNOWN, "The root of the path is missing.")
OUTSIDE: Final = Outcome(ConditionStatus.ERROR, "The path leads out of every root.")
NOT_READABLE: Final = Outcome(ConditionStatus.ERROR, "The path cannot be looked at.")

# `O_PATH` names a place without opening what is there: no permission to read, no waiting for a FIFO.
_PLACE: Final = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def probe(
    parameters: FileParameters, configuration: FileExistsConfiguration, _outside: Outside, deadline: Deadline
) -> Outcome:
    """Look whether the path of the alias is there.

    Raises:
        DeadlineReached: the time was over before. A file system that hangs does not heed it.
    """
    alias = configuration.aliases.get(parameters.path_alias)
    if alias is None:
        return UNKNOWN_ALIAS
    deadline.left()
    roots = {root: _canonical(root) for root in configuration.roots}
    try:
        path = Path(alias).resolve()
        for root in roots.values():
            if root is not None and path.is_relative_to(root):
                return _look(root, path)
    except (OSError, RuntimeError):
        # Before Python 3.13 a loop of symbolic links is a RuntimeError.
        return NOT_READABLE
    if any(found is None and _plain(alias).is_relative_to(_plain(root)) for root, found in roots.items()):
        return ROOT_MISSING
    return OUTSIDE


def check(configuration: FileExistsConfiguration) -> Refusal | None:
    """Look whether a configuration may be saved: its roots are there, and no alias leads out of them.

    Returns:
        VALIDATION_ERROR with a pointer to each root or alias at fault, or None. Aliases are judged once all
        roots are there.
    """
    found = {root: _canonical(root) for root in set(configuration.roots)}
    roots = frozenset(found.values())
    errors: list[tuple[str, Reason]] = [
        (f"/configuration/roots/{position}", "format")
        for position, root in enumerate(configuration.roots)
        if found[root] is None
    ] or [
        # An alias has no character that a JSON pointer would escape.
        (f"/configuration/aliases/{alias}", "format")
        for alias, path in configuration.aliases.items()
        if not _is_under(roots, path)
    ]
    return invalid(*errors) if errors else None


def _canonical(root: str) -> Path | None:
    """The root without symbolic links, or None when it is not there or not to be reached."""
    try:
        return Path(root).resolve(strict=True)
    except (OSError, RuntimeError):
        return None


def _plain(path: str) -> PurePosixPath:
    """A path without empty, ``.`` and ``..`` parts."""
    return PurePosixPath(os.path.normpath("/" + path.lstrip("/")))


def _is_under(roots: frozenset[Path | None], path: str) -> bool:
    """Whether the nearest existing ancestor of the path, or the path itself, lies under a root."""
    try:
        resolved = Path(path).resolve()
        nearest = next(place for place in (resolved, *resolved.parents) if place.exists())
    except (OSError, RuntimeError):
        return False
    return not roots.isdisjoint((nearest, *nearest.parents))


def _look(root: Path, path: Path) -> Outcome:
    """Look at a path that is canonical, as is the root above it.

    Both were so a moment ago. They are walked part by part, so a symbolic link that was put there since leads
    nowhere.

    Raises:
        OSError: there is such a link, or it cannot be looked at.
    """
    try:
        place = _walk(os.open("/", _PLACE), root.parts[1:])
    except (FileNotFoundError, NotADirectoryError):
        return ROOT_MISSING
    try:
        place = _walk(place, path.relative_to(root).parts)
    except (FileNotFoundError, NotADirectoryError):
        return NOT_THERE
    os.close(place)
    return THERE


def _walk(place: int, parts: Iterable[str]) -> int:
    """Go down from a place, which is closed, to another, which the caller closes."""
    for part in parts:
        try:
            below = os.open(part, _PLACE, dir_fd=place)
        finally:
            os.close(place)
        place = below
        if stat.S_ISLNK(os.fstat(place).st_mode):
            os.close(place)
            raise OSError(errno.ELOOP, "a symbolic link")
    return place
