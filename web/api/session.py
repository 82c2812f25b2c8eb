"""Session: who is signed in, signing in and out, and proving once more who one is (contract 11.5 to 11.7)."""

from typing import ClassVar, Final

from actors.messages.sessions import (
    Admitted,
    IssuePreSession,
    Reauthenticate,
    SignIn,
    SignOut,
    Throttled,
)
from remindi import audit, views
from remindi.errors import ErrorCode, Refusal
from remindi.inputs.administration import Login, Proof, read_body
from remindi.schemas import administration as schemas
from remindi.views import Json
from web.api.answering import Refused
from web.api.call import Call
from web.api.cookies import cleared_cookie, set_cookie
from web.api.policy import Admission, Body, Operation, Policy, Resource

LOGIN: Final = "login"
REAUTHENTICATION: Final = "reauthentication"


class CurrentSession(Resource):
    """``/session``."""

    operations: ClassVar = {
        "GET": Operation(Policy(Admission.OPEN), "Who is signed in, and the next CSRF token", schemas.SESSION)
    }

    def on_get(self, call: Call) -> Json:
        """Show the live session; without one, a pre-session token for a sign-in."""
        session = call.session
        if session is not None:
            return views.session_data(
                session.actor_id,
                session.csrf_token,
                session.expires_at,
                authentication_required=self.door.config.webui_auth,
            )
        return views.no_session_data(call.ask_sessions(IssuePreSession()))


class SignedIn(Resource):
    """``/auth/login``."""

    operations: ClassVar = {
        "POST": Operation(
            Policy(Admission.SIGN_IN, Body.JSON),
            "Sign in",
            schemas.SESSION,
            body=Login,
            codes=(ErrorCode.UNAUTHENTICATED, ErrorCode.LIMIT_EXCEEDED),
        )
    }

    def on_post(self, call: Call) -> Json | Refusal:
        """Begin a session under a token of its own."""
        login = read_body(Login, call.body)
        if isinstance(login, Refusal):
            return _failed(call, LOGIN, login)
        answer = call.ask_sessions(
            SignIn(client=call.client(), username=login.username, password=login.password)
        )
        return _admitted(self, call, LOGIN, answer)


class Proven(Resource):
    """``/auth/reauthenticate``."""

    operations: ClassVar = {
        "POST": Operation(
            Policy(Admission.MUTATION, Body.JSON),
            "Prove once more who one is",
            schemas.SESSION,
            body=Proof,
            codes=(ErrorCode.REAUTHENTICATION_REQUIRED, ErrorCode.LIMIT_EXCEEDED),
        )
    }

    def on_post(self, call: Call) -> Json | Refusal:
        """Renew the proof of the session; with authentication off it has a cookie of its own."""
        proof = read_body(Proof, call.body)
        if isinstance(proof, Refusal):
            return _failed(call, REAUTHENTICATION, proof)
        answer = call.ask_sessions(
            Reauthenticate(client=call.client(), token=call.token, password=proof.password)
        )
        return _admitted(self, call, REAUTHENTICATION, answer)


class SignedOut(Resource):
    """``/auth/logout``."""

    operations: ClassVar = {
        "POST": Operation(Policy(Admission.MUTATION), "Sign out", schemas.LOGGED_OUT),
    }

    def on_post(self, call: Call) -> Json:
        """End the session, and its cookie."""
        call.ask_sessions(SignOut(token=call.token))
        call.set_cookie(cleared_cookie(self.door.config))
        call.record(audit.LOGOUT, audit.SUCCEEDED, {"kind": LOGIN})
        return {"logged_out": True}


def _admitted(
    resource: Resource, call: Call, kind: str, answer: Admitted | Refusal | Throttled
) -> Json | Refusal:
    if isinstance(answer, Throttled):
        # Nobody looked at the credentials, so nothing is audited (contract 13.2).
        raise Refused(Refusal(ErrorCode.LIMIT_EXCEEDED), status=429, retry_after=answer.retry_after)
    if isinstance(answer, Refusal):
        return _failed(call, kind, answer)
    session = answer.session
    if answer.token is not None:
        call.set_cookie(set_cookie(answer.token, resource.door.config))
    call.act_as(session)
    call.record(audit.LOGIN_SUCCEEDED, audit.SUCCEEDED, {"kind": kind})
    return views.session_data(
        session.actor_id,
        session.csrf_token,
        session.expires_at,
        authentication_required=resource.door.config.webui_auth,
    )


def _failed(call: Call, kind: str, refusal: Refusal) -> Refusal:
    call.record(audit.LOGIN_FAILED, audit.REJECTED, {"kind": kind, "failure_code": refusal.code.value})
    return refusal
