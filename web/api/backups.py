"""Backups: made, listed, checked, taken in, sent and restored (contract 14, 15)."""

from http import HTTPStatus
from typing import ClassVar, Final

from actors.messages.backups import CreateBackup, OpenBackup, RestoreBackup, VerifyBackup
from actors.messages.readers import ListBackups, ListSettings
from remindi import audit, views
from remindi.backups import BackupRecord, Source
from remindi.errors import ErrorCode, Refusal, invalid
from remindi.identifiers import parse_uuid
from remindi.inputs.administration import RestoreConfirmation, read_confirmation
from remindi.schemas import administration as schemas
from remindi.settings import UPLOAD_MAX_BYTES, Settings
from remindi.views import Json
from web import downloads, uploads
from web.api.answering import Attachment, Refused
from web.api.bodies import decoded, media_type
from web.api.call import Call
from web.api.policy import Admission, Body, Database, Operation, Policy, Resource, Waits
from web.door import Door
from web.downloads import MEDIA_TYPE, Downloads
from web.multipart import NotAnUpload, boundary_of
from web.uploads import Announced, Uploads

_CHANGE: Final = Policy(Admission.MUTATION, database=Database.READ, waits=Waits.BACKUPS)
"""The controller writes; a damaged database still gives and takes backups (contract section 16)."""
_ELSEWHERE: Final = (
    "The administration listener takes no uploads: send it to the listener without --admin-port, or give"
    " the file to `remindi backup restore` on the machine itself."
)
_OWN: Final = (ErrorCode.NOT_FOUND, ErrorCode.BACKUP_INVALID)


class Backups(Resource):
    """``/backups``."""

    operations: ClassVar = {
        "GET": Operation(
            Policy(Admission.SESSION, database=Database.READ),
            "All backups, the newest first",
            schemas.BACKUPS,
        ),
        "POST": Operation(_CHANGE, "Make a backup, and check it", schemas.BACKUP, status=HTTPStatus.CREATED),
    }

    def on_get(self, call: Call) -> list[Json]:
        """List the records."""
        return [views.backup_data(record) for record in call.read(ListBackups(caller=call.caller))]

    def on_post(self, call: Call) -> Json | Refusal:
        """Make one; it is there, durable and checked when this answers."""
        return _shown(call.ask_backups(CreateBackup(caller=call.caller)))


class UploadedBackup(Resource):
    """``/backups/upload``."""

    operations: ClassVar = {
        "POST": Operation(
            Policy(Admission.MUTATION, Body.UPLOAD, Database.READ),
            "Take a backup in, and check it",
            schemas.BACKUP,
            status=HTTPStatus.CREATED,
            codes=(ErrorCode.BACKUP_INVALID, ErrorCode.LIMIT_EXCEEDED),
        )
    }

    def __init__(self, door: Door) -> None:
        super().__init__(door)
        self._uploads = Uploads(door)

    def on_post(self, call: Call) -> Json | Refusal:
        """Let a file in that announces itself rightly; it is then taken in on the loop."""
        if call.facts.later is None:
            return self._rejected(call, Refusal(ErrorCode.LIMIT_EXCEEDED, reason=_ELSEWHERE))
        declared = call.facts.one(b"content-length")
        if declared is None or not (declared.isascii() and declared.isdigit()):
            raise Refused(invalid(("", "required")), status=HTTPStatus.LENGTH_REQUIRED)
        if media_type(call.facts) != "multipart/form-data":
            return invalid(("", "media_type"))
        rows = call.read(ListSettings(caller=call.caller))
        limit = Settings({row.key: row.value for row in rows})[UPLOAD_MAX_BYTES]
        if len(declared) > 18 or int(declared) > uploads.longest_body(limit):
            return self._rejected(call, uploads.too_large(limit))
        try:
            boundary = boundary_of(call.facts.one(b"content-type") or "")
        except NotAnUpload as error:
            return self._rejected(call, Refusal(ErrorCode.BACKUP_INVALID, reason=str(error)))
        announced = Announced(caller=call.caller, boundary=boundary, length=int(declared), limit=limit)
        call.go_on(lambda exchange: self._uploads.serve(exchange, announced))
        return {}

    def _rejected(self, call: Call, refusal: Refusal) -> Refusal:
        call.record_refusal(audit.BACKUP_UPLOADED, audit.about_backup(None, Source.UPLOAD), refusal)
        return refusal


class Verification(Resource):
    """``/backups/{id}/verify``."""

    operations: ClassVar = {
        "POST": Operation(_CHANGE, "Check a backup as a restore would use it", schemas.BACKUP, codes=_OWN)
    }

    def on_post(self, call: Call, identifier: str) -> Json | Refusal:
        """Run all of contract 14.3 again."""
        backup_id = _id(identifier)
        if isinstance(backup_id, Refusal):
            call.record_refusal(audit.BACKUP_VERIFIED, {}, backup_id)
            return backup_id
        return _shown(call.ask_backups(VerifyBackup(caller=call.caller, backup_id=backup_id)))


class Download(Resource):
    """``/backups/{id}/download``."""

    operations: ClassVar = {
        "GET": Operation(
            Policy(Admission.SESSION, database=Database.READ, waits=Waits.BACKUPS),
            "Check a backup, and send its file",
            schemas.BACKUP,
            media_type=MEDIA_TYPE,
            codes=(*_OWN, ErrorCode.LIMIT_EXCEEDED),
        )
    }

    def __init__(self, door: Door) -> None:
        super().__init__(door)
        self._downloads = Downloads(door)

    def on_get(self, call: Call, identifier: str) -> Json | Refusal | Attachment:
        """Send it from the loop, or leave the file to a listener that sends files itself."""
        backup_id = _id(identifier)
        if isinstance(backup_id, Refusal):
            return backup_id
        call.require_database()
        if call.go_on(lambda exchange: self._downloads.serve(exchange, call.caller, backup_id)):
            return {}
        file = call.ask_backups(OpenBackup(caller=call.caller, backup_id=backup_id))
        if isinstance(file, Refusal):
            return file
        descriptor = downloads.opened(file)
        if isinstance(descriptor, Refusal):
            return descriptor
        return Attachment(descriptor, downloads.headers_of(file.record))


class Restoration(Resource):
    """``/backups/{id}/restore``."""

    operations: ClassVar = {
        "POST": Operation(
            Policy(Admission.MUTATION, Body.DEFERRED, Database.REPLACE, Waits.BACKUPS),
            "Put the content of a backup in place of what there is",
            schemas.RESTORED,
            body=RestoreConfirmation,
            codes=(
                *_OWN,
                ErrorCode.REAUTHENTICATION_REQUIRED,
                ErrorCode.WORKLOAD_CONFLICT,
                ErrorCode.RESTORE_FAILED,
            ),
        )
    }

    def on_post(self, call: Call, identifier: str) -> Json | Refusal:
        """Restore, for one who has just proven who he is and says what he means (contract 15.1)."""
        backup_id = _id(identifier)
        details = {} if isinstance(backup_id, Refusal) else audit.about_restore(backup_id, None)
        refusal = _guard(call)
        if refusal is None and isinstance(backup_id, Refusal):
            refusal = backup_id
        if refusal is not None or isinstance(backup_id, Refusal):
            assert refusal is not None
            call.record_refusal(audit.RESTORE_STARTED, details, refusal)
            return refusal
        restored = call.restore(RestoreBackup(caller=call.caller, backup_id=backup_id))
        return restored if isinstance(restored, Refusal) else views.restored_data(*restored)


class LatestRestore(Resource):
    """``/restores/latest``."""

    operations: ClassVar = {
        "GET": Operation(
            Policy(Admission.SESSION),
            "How far the latest restore is or what came of it, also during it and after a restart",
            schemas.RESTORES,
            codes=(ErrorCode.NOT_FOUND,),
        )
    }

    def on_get(self, _: Call) -> Json | Refusal:
        """Show it from memory: also while the database is closed."""
        board = self.door.board
        if board.restore is None:
            return Refusal(ErrorCode.NOT_FOUND)
        return views.restores_data(board.restore, board.maintenance)


def _guard(call: Call) -> Refusal | None:
    """What stands against a restore before anybody is asked: no fresh proof, then no confirmation.

    Raises:
        Refused: the body is no JSON, of one who has a proof.
    """
    assert call.session is not None
    if not call.session.proof_is_fresh:
        # Whatever the body is; only a decoded one leaves an audit row (contract 13.2).
        try:
            decoded(call.facts)
        except Refused:
            raise Refused(_PROOF) from None
        return _PROOF
    return read_confirmation(decoded(call.facts))


_PROOF: Final = Refusal(ErrorCode.REAUTHENTICATION_REQUIRED)


def _id(text: str) -> bytes | Refusal:
    """The identifier that a path names."""
    try:
        return parse_uuid(text)
    except ValueError:
        return invalid(("/id", "format"))


def _shown(outcome: BackupRecord | Refusal) -> Json | Refusal:
    return outcome if isinstance(outcome, Refusal) else views.backup_data(outcome)
