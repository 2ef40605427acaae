"""Outside /api too, every method is answered cleanly: reading works with HEAD, and what only reads says 405."""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from demo.services.process import free_port
from tests.conftest import Api
from tests.processes import Process, eventually
from tests.support.api.fixtures import CREATE, nothing_stored

PAGES = ["/", "/pay/222222222222", "/healthz", "/readyz", "/metrics"]
METHODS = ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "FOO"]


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("method", METHODS)
def test_what_only_reads_says_405(public: Api, method: str, path: str) -> None:
    response = public.call(method, path, b"a=1")
    assert (response.status_code, response["Allow"]) == (405, "GET, HEAD")
    assert b"CSRF" not in response.content
    assert nothing_stored()


@pytest.mark.parametrize("method", [*METHODS, "GET", "HEAD"])
def test_an_unknown_page_is_404_for_every_method(public: Api, method: str) -> None:
    assert (
        public.call(method, "/nowhere", b"a=1" if method not in ("GET", "HEAD") else None).status_code == 404
    )


@pytest.mark.parametrize("path", [*PAGES, "/api/public/chains", "/api/public/payment-requests/{id}"])
def test_head_answers_as_get_does_without_a_body(
    api: Api, public: Api, order: Callable[..., dict[str, Any]], path: str
) -> None:
    address = path.format(id=api.post(CREATE, order()).json()["id"])
    got, head = public.get(address), public.call("HEAD", address)
    assert head.status_code == got.status_code
    assert head["Content-Type"] == got["Content-Type"]
    assert (head.content, len(got.content) > 0) == (b"", True)


def test_the_service_says_what_it_is_at_its_own_address(public: Api) -> None:
    response = public.get("/")
    page = response.content.decode()
    assert response.status_code == 200
    assert "Quittance" in page
    assert 'href="/admin/"' in page
    assert "open the link that the shop gave you" in page
    assert "script-src 'self'" in response["Content-Security-Policy"]


@pytest.mark.django_db(transaction=True)
def test_over_the_wire_head_has_no_body_and_odd_methods_end_cleanly(tmp_path: Path) -> None:
    port = free_port()
    server = Process(
        tmp_path / "web.log", "gunicorn", "--bind", f"127.0.0.1:{port}", "config.wsgi:application"
    )

    def is_up() -> bool:
        try:
            return requests.get(f"http://127.0.0.1:{port}/healthz", timeout=2).ok
        except requests.RequestException:
            return False

    def said(line: str) -> bytes:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(f"{line} HTTP/1.1\r\nHost: testserver\r\nConnection: close\r\n\r\n".encode())
            return b"".join(iter(lambda: connection.recv(65536), b""))

    try:
        eventually(is_up, "the server answered")
        head, _, body = said("HEAD /api/public/chains").partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        assert body == b""
        for method in ("FOO", "PROPFIND", "get", "M-SEARCH"):
            for path in ("/pay/x", "/api/public/chains", "/"):
                assert said(f"{method} {path}")[9:12] in (b"405", b"400"), (method, path)
    finally:
        server.kill()
