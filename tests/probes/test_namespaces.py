"""Probes on a wire of their own: public, private and metadata addresses, and what is sent to them.

Two network namespaces and a wire between them. The far one has every address of these tests and reads every
frame, so "denied" means that no frame ever spoke of the address, not even to ask who has it.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from actors.probes import http_health, outcomes, tcp_reachable
from actors.probes.adapters import TIME_IS_UP
from actors.probes.looking import Outcome
from remindi.items import ConditionStatus
from tests.probes.conftest import NAME, Authority
from tests.probes.looks import SOON

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces"),
    pytest.mark.skipif(shutil.which("ip") is None, reason="needs iproute2"),
]

ROOT = Path(__file__).parents[2]
PUBLIC = ["8.8.4.4", "2606:4700::1111"]
PRIVATE = ["10.1.2.3", "172.16.0.1", "192.168.3.4", "100.64.0.1", "fd00::7"]
NEVER = ["169.254.169.254", "100.100.100.200", "fd00:ec2::254"]
NOT_LIFTED = ["198.51.100.7", "192.0.2.7", "198.18.0.7", "2001:db8::7", "2002:808:404::1", "169.254.9.9"]
SILENT = "8.8.9.9"
"""Packets to it arrive and are dropped without a word."""


class Worker:
    """A module that runs in a namespace and answers line by line."""

    def __init__(self, namespace: str, module: str, *arguments: str, env: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            ["ip", "netns", "exec", namespace, sys.executable, "-m", module, *arguments],
            cwd=ROOT,
            env=env,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._answer() == "ready"

    def ask(self, question: object) -> Any:
        """Send a line and wait for the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())


class Wire:
    """Both ends."""

    def __init__(self, near: Worker, far: Worker) -> None:
        self._near = near
        self._far = far

    def look(self, by: str, *at: object, **options: object) -> Outcome:
        """Look from the near end."""
        status, summary = self._near.ask({"by": by, "at": at, **options})
        return Outcome(ConditionStatus(status), summary)

    def frames(self, address: str) -> int:
        """How many frames spoke of an address."""
        held, _ = self._far.ask(address)
        return int(held)

    def connections(self) -> int:
        """How many connections the far end has accepted."""
        _, connections = self._far.ask("0.0.0.0")
        return int(connections)


@pytest.fixture(scope="module")
def wire(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """Make the namespaces, the wire and the workers; all of it goes at the end."""
    near, far = (f"remindi-{end}-{os.getpid()}" for end in ("near", "far"))

    def ip(*arguments: str, at: str | None = None) -> None:
        inside = () if at is None else ("-n", at)
        subprocess.run(["ip", *inside, *arguments], check=True, capture_output=True)

    with ExitStack() as stack:
        for namespace in (near, far):
            try:
                ip("netns", "add", namespace)
            except subprocess.CalledProcessError:
                pytest.skip("this machine allows no network namespaces")
            stack.callback(ip, "netns", "delete", namespace)
        ip("link", "add", "wire", "netns", near, "type", "veth", "peer", "name", "wire", "netns", far)
        ip("link", "set", "wire", "address", "02:00:00:00:00:02", at=far)
        for namespace, own in (
            (near, ["9.9.9.9", "2620:fe::9"]),
            (far, PUBLIC + PRIVATE + NEVER + NOT_LIFTED),
        ):
            ip("link", "set", "lo", "up", at=namespace)
            ip("link", "set", "wire", "up", at=namespace)
            for address in own:
                bits = ("128", "nodad") if ":" in address else ("32",)
                ip("address", "add", f"{address}/{bits[0]}", "dev", "wire", *bits[1:], at=namespace)
            for family in ("-4", "-6"):
                ip(family, "route", "add", "default", "dev", "wire", at=namespace)
        ip("neighbour", "add", SILENT, "lladdr", "02:00:00:00:00:02", "dev", "wire", at=near)
        certificate = tmp_path_factory.mktemp("far") / "certificate.pem"
        authority.write(certificate, NAME, *PUBLIC, *PRIVATE)
        env = {**os.environ, "SSL_CERT_FILE": str(authority.bundle)}
        workers = [
            Worker(far, "tests.probes.far", str(certificate), env=env),
            Worker(near, "tests.probes.near", env=env),
        ]
        for worker in workers:
            stack.callback(worker.close)
        yield Wire(workers[1], workers[0])


def literal(address: str) -> str:
    return f"[{address}]" if ":" in address else address


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_reached(address: str, wire: Wire) -> None:
    assert wire.look("tcp", address, 443, private=False) == tcp_reachable.ACCEPTED
    assert wire.look("http", f"https://{literal(address)}/", private=False) == http_health.HEALTHY
    assert wire.look("tcp", address, 444, private=False) == tcp_reachable.NOT_ACCEPTED
    named = wire.look("http", f"https://{NAME}/", private=False, resolve=[[address]])
    assert named == http_health.HEALTHY


@pytest.mark.parametrize("address", [*PRIVATE, *NEVER, *NOT_LIFTED])
def test_nothing_is_sent_to_an_address_that_is_denied(address: str, wire: Wire) -> None:
    denied = outcomes.PRIVATE if address in PRIVATE else outcomes.DENIED
    frames, connections = wire.frames(address), wire.connections()
    url = f"https://{NAME}/"
    for resolved in ([address], ["8.8.4.4", address], [address, "8.8.4.4"]):
        assert wire.look("tcp", NAME, 443, private=False, resolve=[resolved]) == denied
        assert wire.look("http", url, private=False, resolve=[resolved]) == denied
    assert wire.look("tcp", address, 443, private=False) == denied
    assert wire.look("http", f"https://{literal(address)}/", private=False) == denied
    assert wire.frames(address) == frames
    assert wire.connections() == connections


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_is_reached_where_it_is_allowed(address: str, wire: Wire) -> None:
    assert wire.look("tcp", address, 443, private=True) == tcp_reachable.ACCEPTED
    assert wire.look("http", f"https://{literal(address)}/", private=True) == http_health.HEALTHY
    if "." in address:
        assert wire.look("tcp", f"::ffff:{address}", 443, private=True) == tcp_reachable.ACCEPTED


@pytest.mark.parametrize("address", [*NEVER, *NOT_LIFTED])
def test_nothing_is_sent_to_others_even_where_private_ones_are_allowed(address: str, wire: Wire) -> None:
    frames = wire.frames(address)
    forms = (
        [address] if ":" in address else [address, f"::ffff:{address}", f"::{address}", f"64:ff9b::{address}"]
    )
    for form in forms:
        assert wire.look("tcp", form, 443, private=True) == outcomes.DENIED
        assert wire.look("http", f"https://{literal(form)}/", private=True) == outcomes.DENIED
    assert wire.frames(address) == frames


@pytest.mark.parametrize("inner", ["10.1.2.3", "169.254.169.254", "fd00:ec2::254"])
def test_a_redirect_from_a_public_address_to_an_inner_one_sends_nothing_there(inner: str, wire: Wire) -> None:
    frames = wire.frames(inner)
    url = f"https://{NAME}/to/https://{literal(inner)}/"
    for private in (False, True):
        outcome = wire.look("http", url, private=private, redirects=True, resolve=[["8.8.4.4"]])
        assert outcome == http_health.REDIRECT_REFUSED
    assert wire.frames(inner) == frames


@pytest.mark.parametrize("inner", ["10.1.2.3", "169.254.169.254", "fd00:ec2::254"])
def test_a_name_that_moves_inside_between_two_hops_is_not_followed(inner: str, wire: Wire) -> None:
    frames = wire.frames(inner)
    denied = outcomes.DENIED if inner in NEVER else outcomes.PRIVATE
    url = f"https://{NAME}/to/https://{NAME}/"
    resolve = [["8.8.4.4"], [inner]]
    assert wire.look("http", url, private=False, redirects=True, resolve=resolve) == denied
    assert wire.look("http", f"https://{NAME}/", private=False, resolve=resolve) == http_health.HEALTHY
    assert wire.look("tcp", NAME, 443, private=False, resolve=resolve) == tcp_reachable.ACCEPTED
    assert wire.frames(inner) == frames


def test_an_address_that_says_nothing_is_unknown(wire: Wire) -> None:
    assert wire.look("tcp", SILENT, 443, private=False, seconds=SOON) == TIME_IS_UP
    assert wire.look("http", f"https://{SILENT}/", private=False, seconds=SOON) == TIME_IS_UP
    assert wire.frames(SILENT) > 0


def test_an_address_that_says_nothing_does_not_hide_one_that_answers(wire: Wire) -> None:
    resolve = [[SILENT, "2606:4700::1111"]]
    assert wire.look("tcp", NAME, 443, private=False, resolve=resolve) == tcp_reachable.ACCEPTED
    assert wire.look("http", f"https://{NAME}/", private=False, resolve=resolve) == http_health.HEALTHY
