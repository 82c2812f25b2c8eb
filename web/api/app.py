"""The Falcon application of the API: a WSGI callable that finds the facts of an exchange in the environment.

What is not stated is not there: a responder without an operation, or one whose admission does not fit its
method, keeps the process from starting.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final

import falcon
from falcon.constants import COMBINED_METHODS
from falcon.routing import CompiledRouter

from actors.address import ActorError
from remindi.errors import NOT_FOUND, ErrorCode, Refusal, invalid
from web.api import routes
from web.api.answering import SECURITY_HEADERS, Attachment, Refused, attach, refuse, succeed
from web.api.facts import facts_of
from web.api.policy import Admission, Operation, Resource
from web.api.procedure import Threshold, admit
from web.door import Door
from web.outcomes import refusal_of

Responder = Callable[..., None]
StartResponse = Callable[..., Any]

log = logging.getLogger("remindi.api")

_HEADERS: Final = [(name.decode(), value.decode()) for name, value in SECURITY_HEADERS]
_INTERNAL: Final = Refused(Refusal(ErrorCode.INTERNAL_ERROR))
_NOT_FOUND: Final = Refused(NOT_FOUND)
_METHOD: Final = Refused(invalid(("", "method")))
_READING: Final = (Admission.OPEN, Admission.SESSION)
_CHANGING: Final = (Admission.SIGN_IN, Admission.MUTATION)


class Unstated(Exception):
    """A resource that does not say of each of its methods what it asks of a request."""


class Api:
    """The API of one process (WSGI)."""

    def __init__(self, door: Door) -> None:
        """Make the API.

        Raises:
            Unstated: a route may not be served.
        """
        self._router = Router(door)
        self.app = falcon.App(router=self._router, middleware=[Threshold(door)])
        self.app.add_error_handler(Exception, _unforeseen)
        self.app.add_error_handler(falcon.HTTPError, _by_falcon)
        self.app.add_error_handler(Refused, _refused)
        for name, converter in routes.CONVERTERS.items():
            self._router.options.converters[name] = converter
        for path, resource in routes.ROUTES.items():
            self.app.add_route(routes.PREFIX + path, resource(door))

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request (WSGI)."""

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            return start_response(status, [*headers, *_HEADERS], *more)

        return self.app(environ, start)

    def operation(self, method: str, path: str) -> Operation | None:
        """What a request would be; None when it is nothing."""
        found = self._router.find(path)
        if found is None or not isinstance(found[0], Resource):
            return None
        return found[0].operations.get(method)


class Router(CompiledRouter):
    """Falcon's router, which takes only what is stated, and answers every other method."""

    def __init__(self, door: Door) -> None:
        """Make a router without routes."""
        super().__init__()
        self._door = door

    def find(self, uri: str, req: Any = None) -> Any:
        """Find the route of a path; one that ends with a slash is none, whatever stands before it."""
        return None if uri.endswith("/") else super().find(uri, req)

    def map_http_methods(self, resource: object, **kwargs: Any) -> dict[str, Any]:
        """The responders of a resource by method.

        Raises:
            Unstated: a method has no operation, or an admission that does not fit it.
        """
        if not isinstance(resource, Resource):
            raise Unstated(f"{type(resource).__name__} is no resource with operations")
        found = super().map_http_methods(resource, **kwargs)
        _hold_against_operations(resource, found)
        methods = _Methods(sorted({*found, *(["HEAD"] if "GET" in found else [])}))
        for method, answer in found.items():
            methods[method] = _responder(self._door, resource.operations[method], answer)
        if "GET" in methods:
            # Falcon leaves the body out and keeps its length.
            methods["HEAD"] = methods["GET"]
        for method in COMBINED_METHODS:
            methods.setdefault(method, methods.refuse)
        return methods


class _Methods(dict[str, Responder]):
    """Responders by method; every other method is refused, also one that Falcon does not know."""

    def __init__(self, allowed: list[str]) -> None:
        super().__init__()
        self._allow = ", ".join(allowed)

    def __missing__(self, _: str) -> Responder:
        return self.refuse

    def refuse(self, request: falcon.Request, response: falcon.Response, **_: Any) -> None:
        """Answer 405 with what is allowed."""
        response.set_header("Allow", self._allow)
        refuse(response, facts_of(request.env), _METHOD)


def _hold_against_operations(resource: Resource, found: Mapping[str, Any]) -> None:
    name = type(resource).__name__
    operations = getattr(resource, "operations", {})
    if found.keys() != operations.keys():
        raise Unstated(f"{name} has responders for {sorted(found)} and operations for {sorted(operations)}")
    for method, operation in operations.items():
        if operation.policy.admission not in (_READING if method == "GET" else _CHANGING):
            raise Unstated(f"{name} may not admit {method} as {operation.policy.admission.value}")


def _responder(door: Door, operation: Operation, answer: Callable[..., Any]) -> Responder:
    """A responder for Falcon around one of ours."""
    mutation = operation.policy.admission in _CHANGING

    def respond(request: falcon.Request, response: falcon.Response, **path: str) -> None:
        facts = facts_of(request.env)
        try:
            outcome = answer(admit(door, operation, facts, response), *path.values())
        except Refused as refused:
            refuse(response, facts, refused)
            return
        except Exception as error:
            refusal = refusal_of(error, door.board, mutation=mutation)
            about = {"request_id": facts.request_id, "code": refusal.code.value}
            if refusal.code is ErrorCode.INTERNAL_ERROR and not isinstance(error, ActorError):
                log.exception("a request failed", extra=about)
            else:
                log.warning("a request got no answer: %s", type(error).__name__, extra=about)
            outcome = refusal
        if isinstance(outcome, Refusal):
            refuse(response, facts, Refused(outcome))
        elif isinstance(outcome, Attachment):
            attach(response, outcome)
        else:
            succeed(response, facts, outcome, operation.status)

    return respond


def _refused(request: falcon.Request, response: falcon.Response, error: Refused, _: object) -> None:
    refuse(response, facts_of(request.env), error)


def _by_falcon(
    request: falcon.Request, response: falcon.Response, error: falcon.HTTPError, path: object
) -> None:
    """Answer what Falcon itself refuses: a path that nobody serves."""
    if isinstance(error, falcon.HTTPNotFound):
        refuse(response, facts_of(request.env), _NOT_FOUND)
    elif error.status_code < HTTPStatus.INTERNAL_SERVER_ERROR:
        # A method that Falcon keeps for itself.
        refuse(response, facts_of(request.env), _METHOD)
    else:
        _unforeseen(request, response, error, path)


def _unforeseen(request: falcon.Request, response: falcon.Response, error: Exception, _: object) -> None:
    facts = facts_of(request.env)
    log.error("a request failed", exc_info=error, extra={"request_id": facts.request_id})
    refuse(response, facts, _INTERNAL)
