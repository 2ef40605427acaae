"""`/quittance.js` is small and always available. Shops that pin their scripts can check its digest."""

import base64
import gzip
import hashlib
import re
from pathlib import Path
from typing import Any

from django.contrib.staticfiles import finders
from django.test import Client

from tests.processes import REPOSITORY

MAX_BYTES = 5120  # a third are texts in twelve languages


def digest(content: bytes) -> str:
    return "sha384-" + base64.b64encode(hashlib.sha384(content).digest()).decode()


def body(client: Client) -> bytes:
    return bytes(client.get("/quittance.js").content)


def test_any_origin_may_load_and_check_it(client: Client) -> None:
    answer = client.get("/quittance.js")
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/javascript; charset=utf-8"
    assert answer["Access-Control-Allow-Origin"] == "*"
    assert answer["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert not answer.cookies


def test_a_release_reaches_shops_soon_and_nothing_is_sent_twice(client: Client) -> None:
    answer = client.get("/quittance.js")
    assert answer["Cache-Control"] == "public, max-age=300"
    again = client.get("/quittance.js", headers={"If-None-Match": answer["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.post("/quittance.js").status_code == 405


def test_it_is_the_built_file_in_either_place(client: Client, settings: Any, tmp_path: Any) -> None:
    built = finders.find("checkout/quittance.js")
    with open(built, "rb") as file:
        assert file.read() == body(client)


def test_it_is_small_on_the_wire(client: Client) -> None:
    answer = client.get("/quittance.js", headers={"Accept-Encoding": "gzip"})
    assert answer["Content-Encoding"] == "gzip"
    assert gzip.decompress(answer.content) == body(client)
    assert len(answer.content) < MAX_BYTES


def test_the_documentation_tells_its_digest(client: Client) -> None:
    told = re.findall(r'integrity="(sha384-[^"]+)"', (REPOSITORY / "docs/embedding.md").read_text())
    assert set(told) == {digest(body(client))}


def test_its_types_are_served_beside_it() -> None:
    source = REPOSITORY / "checkout/frontend/src/shop/quittance.d.ts"
    assert Path(str(finders.find("checkout/quittance.d.ts"))).read_bytes() == source.read_bytes()
