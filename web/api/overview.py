"""The overview: what the whole service looks like at this moment, at a price that does not grow with it."""

from typing import ClassVar

from actors.messages.readers import GetOverview, ListBackups
from remindi import views
from remindi.schemas import administration as schemas
from remindi.views import Json
from web.api.call import Call
from web.api.policy import Admission, Database, Operation, Policy, Resource


class Overview(Resource):
    """``/overview``."""

    operations: ClassVar = {
        "GET": Operation(
            Policy(Admission.SESSION, database=Database.READ),
            "Counts, the next 24 hours, the last 90 days, workloads, backups and clients",
            schemas.OVERVIEW,
        )
    }

    def on_get(self, call: Call) -> Json:
        """Show what the database has counted and what the board knows."""
        overview = call.read(GetOverview(caller=call.caller, as_of=self.door.clock.now()))
        records = call.read(ListBackups(caller=call.caller))
        board = self.door.board
        return views.overview_data(
            overview,
            board.workloads,
            board.last_calls,
            maintenance=board.maintenance,
            backups=records,
            state=board.backups,
        )
