"""The page's own files are held to their digests: what was altered on the way does not run."""

import base64
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.core.management import call_command
from playwright.sync_api import Page, Route, expect

from payments.models import PaymentRequest
from tests.conftest import Api

Create = Callable[..., dict[str, Any]]
SOLANA = "/static/checkout/solana.js"
IMPORT = f"import('{SOLANA}').then(() => 'ran', () => 'refused')"


def digest(name: str) -> str:
    return digest_of(Path(finders.find(name)))


def digest_of(file: Path) -> str:
    return "sha384-" + base64.b64encode(hashlib.sha384(file.read_bytes()).digest()).decode()


@pytest.mark.parametrize(
    "path",
    ["/pay/{shortcode}", "/pay/{shortcode}/by-hand", "/pay/{shortcode}/receipt", "/pay/nonesuch2345", "/"],
)
def test_every_script_and_style_of_ours_names_its_digest(
    public: Api, api: Api, order: Create, path: str
) -> None:
    request = api.post("/api/payment-requests", order()).json()
    if path.endswith("receipt"):
        PaymentRequest.objects.filter(pk=request["id"]).update(status="completed", amount_paid=10_500_000)
    text = public.get(path.format(**request)).content.decode()
    loaded = re.findall(r'<(?:script|link)[^>]*(?:src|href)="/static/(\S+\.(?:js|css))"[^>]*>', text)
    named = re.findall(r'(?:src|href)="/static/(\S+\.(?:js|css))" integrity="([^"]+)"', text)
    assert sorted(loaded) == sorted(name for name, _ in named)
    assert loaded
    for name, told in named:
        assert told == digest(name)


def test_parts_that_are_loaded_later_are_in_the_import_map(public: Api, api: Api, order: Create) -> None:
    request = api.post("/api/payment-requests", order()).json()
    text = public.get(f"/pay/{request['shortcode']}").content.decode()
    (told,) = re.findall(r'<script nonce="[^"]+" type="importmap">(.+?)</script>', text)
    known = json.loads(told)["integrity"]
    assert known[SOLANA] == digest("checkout/solana.js")
    assert not {name for name in known if name.endswith(("checkout.js", "quittance.js"))}


def altered(route: Route) -> None:
    answer = route.fetch()
    route.fulfill(response=answer, body=answer.text() + "\n;window.altered = true;")


def test_an_altered_script_does_not_run(page: Page, create: Create) -> None:
    page.route("**/checkout.js", altered)
    with page.expect_event("console", lambda said: "integrity" in said.text):
        page.goto(create()["payment_url"])
    assert page.evaluate("window.altered") is None
    expect(page.locator("#amount")).to_have_text("10.50")  # what needs no script is there


def test_an_altered_part_is_not_imported(page: Page, create: Create) -> None:
    url = create()["payment_url"]
    page.goto(url)
    assert page.evaluate(IMPORT) == "ran"
    page.route(f"**{SOLANA}", altered)
    page.goto(url)
    assert page.evaluate(IMPORT) == "refused"
    assert page.evaluate("window.altered") is None


def test_an_altered_style_is_not_applied(page: Page, service: str) -> None:
    page.goto(service)
    assert page.evaluate("document.styleSheets.length") == 1
    page.route("**/checkout.css", altered)
    page.goto(service)
    assert page.evaluate("document.styleSheets.length") == 0


def test_fingerprinted_files_are_held_to_their_own_digests(
    public: Api, api: Api, order: Create, settings: Any, tmp_path: Path
) -> None:
    settings.STATIC_ROOT, settings.COLLECTED = tmp_path, True
    manifest = "whitenoise.storage.CompressedManifestStaticFilesStorage"
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": manifest}}
    others = ["admin/*", "unfold/*", "drf_spectacular_sidecar/*", "merchants/*", "payments/*"]
    call_command("collectstatic", "--no-input", verbosity=0, ignore_patterns=others)

    request = api.post("/api/payment-requests", order()).json()
    text = public.get(f"/pay/{request['shortcode']}").content.decode()
    named = dict(re.findall(r'(?:src|href)="/static/(\S+\.(?:js|css))" integrity="([^"]+)"', text))
    (told,) = re.findall(r'type="importmap">(.+?)</script>', text)
    named |= {name.removeprefix("/static/"): told for name, told in json.loads(told)["integrity"].items()}
    assert len(named) >= 2
    for name, told in named.items():
        assert re.search(r"\.[0-9a-f]{12}\.(js|css)$", name)
        assert told == digest_of(tmp_path / name)
    script = public.get("/quittance.js").content
    assert script == (tmp_path / "checkout/quittance.js").read_bytes()
