"""Routes: every path of the API and its resource."""

from typing import Final

from web.api import adapters, audit, backups, events, overview, remindi, session, settings, workloads
from web.api.policy import Resource

PREFIX: Final = "/api/v1"

ROUTES: Final[dict[str, type[Resource]]] = {
    "/session": session.CurrentSession,
    "/auth/login": session.SignedIn,
    "/auth/reauthenticate": session.Proven,
    "/auth/logout": session.SignedOut,
    "/remindi": remindi.Items,
    "/remindi/check": remindi.Check,
    "/remindi/{id}": remindi.Item,
    "/remindi/{id}/complete": remindi.Completion,
    "/remindi/{id}/snooze": remindi.Snooze,
    "/remindi/{id}/cancel": remindi.Cancellation,
    "/remindi/{id}/history": remindi.History,
    "/overview": overview.Overview,
    "/settings/bootstrap": settings.Bootstrap,
    "/settings": settings.Settings,
    "/settings/{key}": settings.Setting,
    "/adapters": adapters.Adapters,
    "/adapters/{name}": adapters.Adapter,
    "/adapters/{name}/test": adapters.AdapterTest,
    "/events": events.Events,
    "/workloads": workloads.Workloads,
    "/workloads/{component:component}/{action:action}": workloads.Transition,
    "/admin-events": audit.AdminEvents,
    "/backups": backups.Backups,
    "/backups/upload": backups.UploadedBackup,
    "/backups/{id}/verify": backups.Verification,
    "/backups/{id}/download": backups.Download,
    "/backups/{id}/restore": backups.Restoration,
    "/restores/latest": backups.LatestRestore,
}
"""By path below ``PREFIX``; ``:name`` behind a parameter is the converter that it must pass."""

CONVERTERS: Final[dict[str, type[workloads.Words]]] = {
    "component": workloads.Component,
    "action": workloads.Action,
}
"""Parameters of which only some words make a path; any other is unknown to everybody."""
